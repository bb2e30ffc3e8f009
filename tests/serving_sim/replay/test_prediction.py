import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving_sim.engine import trace_run
from serving_sim.replay.calibration import calibrate
from serving_sim.replay.prediction import predict, predict_as_planned, queue_logic
from serving_sim.replay.queries import draw_queries
from tests.serving_sim.replay.plans import one_path_plan, real_plan, served


@given(seed=st.integers(0, 1000), servers=st.integers(1, 3), dispatch_ms=st.sampled_from([0.0, 0.2]))
def test_queue_logic_is_exact_where_dispatch_is_always_the_same(seed: int, servers: int, dispatch_ms: float) -> None:
    plan = one_path_plan(servers=servers)
    service_ms_N = np.random.default_rng(seed).lognormal(0, 0.5, 300)
    trace = served(plan, service_ms_N, dispatch_ms=dispatch_ms)
    assert queue_logic(plan, trace).latency_ms_N == pytest.approx(trace.latency_ms_N)


def test_a_plan_that_tells_the_truth_is_predicted_from_itself() -> None:
    plan = one_path_plan()
    queries = draw_queries(plan, 3000)
    as_planned = predict_as_planned(plan, None, queries)
    assert as_planned.latency_ms_N == pytest.approx(trace_run(plan).latency_ms_N)
    trace = served(plan, np.asarray(trace_run(plan).service_ms_N), queries=queries)
    calibration = calibrate(plan, trace, np.ones(3000, dtype=np.bool_))
    [outcome] = predict(plan, None, queries, calibration, repetitions=1, seed=0)
    for share in (0.5, 0.95, 0.99):
        truth = np.quantile(trace.latency_ms_N, share)
        assert np.quantile(outcome.latency_ms_N, share) == pytest.approx(truth, rel=0.02)


def test_a_machine_slower_than_its_tables_is_predicted_by_calibration() -> None:
    plan = one_path_plan(qps=300.0)
    slow_ms_N = 1.5 * np.asarray(trace_run(plan).service_ms_N) * np.random.default_rng(0).lognormal(-0.02, 0.2, 3000)
    trace = served(plan, slow_ms_N, dispatch_ms=0.1)
    calibration = calibrate(plan, trace, np.arange(3000) % 2 == 0)
    found = [one.latency_ms_N for one in predict(plan, None, trace.queries, calibration, repetitions=5, seed=1)]
    assert np.median(found) == pytest.approx(np.median(trace.latency_ms_N), rel=0.05)
    assert np.quantile(found, 0.99) == pytest.approx(np.quantile(trace.latency_ms_N, 0.99), rel=0.1)


def test_refused_queries_have_no_latency() -> None:
    plan = real_plan(qps=1e5)
    outcome = predict_as_planned(plan, "headroom", draw_queries(plan, 500))
    assert np.array_equal(np.isnan(outcome.latency_ms_N), outcome.path_N < 0)
    assert (outcome.path_N < 0).any()
