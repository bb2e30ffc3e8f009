import math

import numpy as np
import pytest

from profiles.errors import InputError, UnknownNameError
from serving_sim.capacity_search import draw_trial, search_capacity
from serving_sim.engine import simulate, trace_run
from serving_sim.plan import Plan
from serving_sim.policies import Batching, Headroom, Policy, Static, batched_rule, compile_rule
from serving_sim.testing import PolicyContract, small_plan
from tests.serving_sim.test_events import one_path


class TestBatching(PolicyContract):
    def make(self) -> Policy:
        return Batching(most_samples=512, wait_ms=0.5)


class TestBatchingOfOnePath(PolicyContract):
    def make(self) -> Policy:
        return Batching(path="hybrid-gpu", most_samples=1)


def one_sample_each(qps: float, queries: int = 5_000) -> Plan:
    """A millisecond for a batch of up to 100 samples, a sample a query."""
    return one_path(1.0, qps=qps, queries=queries)


def test_a_batch_starts_once_its_oldest_query_has_waited_the_limit() -> None:
    traced = trace_run(one_sample_each(qps=300), policy=Batching(most_samples=100, wait_ms=20.0))
    starts = np.unique(traced.start_ms_N)
    oldest = [float(traced.arrival_ms_N[traced.start_ms_N == start].min()) for start in starts]
    assert starts - np.array(oldest) == pytest.approx(np.full(len(starts), 20.0))


def test_a_full_batch_starts_at_once() -> None:
    traced = trace_run(one_sample_each(qps=300), policy=Batching(most_samples=4, wait_ms=1e6))
    _, counts = np.unique(traced.start_ms_N, return_counts=True)
    assert set(counts[:-1].tolist()) == {4}
    newest = [float(traced.arrival_ms_N[traced.start_ms_N == start].max()) for start in np.unique(traced.start_ms_N)]
    assert np.unique(traced.start_ms_N)[:-1] == pytest.approx(np.array(newest)[:-1])


def test_batches_of_one_query_serve_as_no_batches_do() -> None:
    plan = small_plan(qps=800)
    batched = trace_run(plan, policy=Batching(most_samples=1, path="table-gpu"))
    plain = trace_run(plan, policy=Static(path="table-gpu"))
    assert np.array_equal(batched.start_ms_N, plain.start_ms_N)
    assert np.array_equal(batched.service_ms_N, plain.service_ms_N)


def test_batches_carry_more_load_than_single_queries_where_a_batch_costs_little_more() -> None:
    plan = one_sample_each(qps=5_000)
    assert simulate(plan).verdict == "overloaded"
    batched = simulate(plan, policy=Batching(most_samples=100))
    assert batched.verdict == "stable"
    assert 0 < (batched.fluid_bound_share or 0) <= 1 + 1e-9


def test_options_are_checked() -> None:
    with pytest.raises(UnknownNameError, match="routing"):
        Batching(routing="headroom")
    with pytest.raises(InputError, match="most_samples"):
        Batching(most_samples=0)
    with pytest.raises(InputError, match="wait_ms"):
        Batching(wait_ms=math.inf)
    with pytest.raises(InputError, match="form batches"):
        batched_rule(compile_rule(Headroom(), small_plan()), samples=2, wait_ms=1.0)


def test_its_capacity_is_that_of_batches() -> None:
    plan = one_sample_each(qps=100)
    single, batched = (
        search_capacity(draw_trial(plan, 2_000), policy, 0.05).max_qps
        for policy in (Static(), Batching(path="p", most_samples=20))
    )
    assert 500 < single <= 1_000
    assert batched > 10 * single
