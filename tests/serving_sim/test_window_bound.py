import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving_sim.engine import simulate, trace_run
from serving_sim.fluid_bound import best_prices, bound_at, collect_rows
from serving_sim.kernels import Chunk
from serving_sim.paths import compile_paths
from serving_sim.plan import Arrivals, Plan, PolicyChoice
from serving_sim.testing import small_plan
from serving_sim.window_bound import Downtime, best_per_sample, window_bound
from serving_sim.workload import WorkloadStream, empty_chunk
from tests.serving_sim.reference import POLICIES, plans

EVERY_POLICY = (*POLICIES, PolicyChoice(name="headroom"), PolicyChoice(name="accuracy-floor", options={"floor": 0.6}))


def drawn(plan: Plan) -> Chunk:
    tables, count = compile_paths(plan), plan.workload.queries
    chunk = empty_chunk(count, len(tables.spreads))
    WorkloadStream(plan.workload, tables.spreads, plan.seed).fill(chunk, count)
    np.cumsum(chunk.gap_N * 1e3 / plan.workload.qps, out=chunk.arrival_ms_N)
    return chunk


def bound_of(plan: Plan, down: tuple[Downtime, ...] = (), steps: int = 8) -> float:
    sla_ms_C = np.array([plan.workload.sla_ms])
    return window_bound(drawn(plan), 0, compile_paths(plan).arrays, sla_ms_C, steps=steps, down=down)


def correct_in_sla(plan: Plan, policy: PolicyChoice) -> float:
    traced = trace_run(plan, policy=policy)
    accuracy_P = np.array([path.accuracy for path in plan.paths])
    good_N = (traced.path_N >= 0) & (traced.latency_ms_N <= plan.workload.sla_ms)
    return float((accuracy_P[traced.path_N] * traced.size_N)[good_N].sum())


@pytest.mark.filterwarnings("ignore:policy.options.floor")
@given(plan=plans(), policy=st.sampled_from(EVERY_POLICY))
@settings(max_examples=40, deadline=None)
def test_no_policy_beats_the_bound(plan: Plan, policy: PolicyChoice) -> None:
    assert correct_in_sla(plan, policy) <= bound_of(plan) * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore:policy.options.floor")
@given(plan=plans(), policy=st.sampled_from(EVERY_POLICY[-2:]))
@settings(max_examples=30, deadline=None)
def test_no_policy_that_learns_or_refuses_beats_the_bound_without_windows(plan: Plan, policy: PolicyChoice) -> None:
    share = simulate(plan, policy=policy).fluid_bound_share
    assert share is None or 0 <= share <= 1 + 1e-9


def test_bursts_lower_it_below_the_bound_with_one_price() -> None:
    plan = small_plan(qps=2500, queries=4_000).at(arrivals=Arrivals(process="gamma", cv=8.0))
    chunk, tables = drawn(plan), compile_paths(plan)
    rows = collect_rows(chunk, 0, plan.workload.queries, tables.arrays)
    available_ms_D = (chunk.arrival_ms_N[-1] - chunk.arrival_ms_N[0] + 10.0) * tables.arrays.servers_D
    prices_D = best_prices(rows, 10.0, available_ms_D)
    assert bound_of(plan, steps=40) < 0.95 * bound_at(rows.within(10.0), prices_D, available_ms_D)[0]


def test_time_that_a_device_is_down_earns_nothing() -> None:
    plan = small_plan(qps=3000, queries=3_000)
    whole = bound_of(plan)
    half = bound_of(plan, tuple(Downtime(device=device, start_ms=0.0, end_ms=500.0) for device in (0, 1)))
    assert half < 0.7 * whole


def test_the_best_cost_per_sample_of_batches_and_parts() -> None:
    service_ms_SP = np.array([[0.0], [4.0], [6.0], [12.0]])
    assert best_per_sample(service_ms_SP, 2, splits=False)[1:, 0].tolist() == pytest.approx([3.0, 6.0, 12.0])
    assert best_per_sample(service_ms_SP, 3, splits=True)[1:, 0].tolist() == pytest.approx([3.0, 6.0, 9.0])
