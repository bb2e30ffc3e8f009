import numpy as np
import pytest
from numpy.typing import NDArray

from serving_sim.engine import trace_run
from serving_sim.replay.calibration import calibrate
from serving_sim.replay.observed import device_times
from serving_sim.replay.servable import servable_part
from tests.serving_sim.replay.plans import one_path_plan, real_plan, served

ALL = np.ones(2000, dtype=np.bool_)


def correlated(count: int, correlation: float, sigma: float) -> NDArray[np.float64]:
    rng, values = np.random.default_rng(0), np.zeros(count)
    for i in range(1, count):
        values[i] = correlation * values[i - 1] + np.sqrt(1 - correlation**2) * rng.normal()
    return np.exp(sigma * values)


def test_dispatch_scatter_and_correlation_are_found() -> None:
    plan = one_path_plan(qps=400.0)
    service_ms_N = trace_run(plan).service_ms_N[:2000] * correlated(2000, 0.6, 0.3)
    found = calibrate(plan, served(plan, service_ms_N, dispatch_ms=0.15), ALL)
    table = found.plan.paths[0].latency
    assert found.dispatch_ms_D == pytest.approx((0.15,))
    assert found.handover_ms_D == pytest.approx((0.0,), abs=1e-9)
    assert table.sigma == pytest.approx(0.3, rel=0.1)
    assert table.correlation == pytest.approx(0.6, abs=0.08)
    assert found.to_object()["devices"] == [
        {"name": "d", "dispatch_ms": pytest.approx(0.15), "handover_ms": pytest.approx(0, abs=1e-9)}
    ]


def test_a_path_with_few_queries_keeps_its_table_s_shape_and_a_note_says_so() -> None:
    plan = servable_part(real_plan()).plan
    service_ms_N = np.full(40, 2.0)
    found = calibrate(plan, served(plan, service_ms_N), np.ones(40, dtype=np.bool_))
    ratios = [
        np.array(after.latency.mean_ms) / np.array(before.latency.mean_ms)
        for after, before in zip(found.plan.paths, plan.paths, strict=True)
    ]
    assert np.ptp(ratios) == pytest.approx(0.0, abs=1e-9)
    assert len(found.notes) == 2


def test_who_found_a_server_idle_and_for_how_long() -> None:
    plan = one_path_plan(qps=50.0)
    trace = served(plan, np.full(500, 5.0))
    times = device_times(plan, trace, 0)
    waited = trace.start_ms_N > trace.queries.arrival_ms_N
    assert np.array_equal(times.found_idle_N, ~waited)
    before = np.concatenate(([0.0], trace.finish_ms_N[:-1]))
    assert times.idle_ms_N[~waited] == pytest.approx((trace.queries.arrival_ms_N - before)[~waited])
    assert np.all(np.isnan(device_times(one_path_plan(servers=2), trace, 0).idle_ms_N))
