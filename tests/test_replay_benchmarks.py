"""The benchmarks of replay: their plain parts, and that their pages follow from figures. Nothing here is timed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from profiles.hardware import get_hardware
from profiles.store import ProfileStore
from profiles.sweep_options import SweepOptions
from representations.components import work_of
from serving_sim.plan import LatencyTable
from serving_sim.replay import ReplayOptions, replay_plan
from serving_sim.replay.comparison import compare_run
from tests.benchmarks import capacity, replay
from tests.benchmarks.measured_components import with_measured_components
from tests.benchmarks.replay_plan import stand_in_plan
from tests.benchmarks.rising_load import blocks, crossing, find_highest, seconds
from tests.benchmarks.served_beside import ServedBeside, as_served, joined
from tests.benchmarks.simulated_blocks import predict_highest, queue_logic_highest, residuals_of, with_table
from tests.serving_sim.replay.plans import MODELS, one_path_plan, real_plan, served

RATES = (100.0, 200.0, 400.0)


@pytest.mark.parametrize(
    ("latencies", "rate"),
    [
        ((1.0, 2.0, 20.0), 340),
        ((11.0, 12.0, 13.0), 0),
        ((1.0, 2.0, 9.0), 400),
        # Not rising: the mean of the logs stands for both.
        ((11.0, 1.0, 100.0), 264.8),
        ((1.0, 100.0, 30.0), 157.5),
    ],
)
def test_the_sla_is_crossed_between_two_rates(latencies: tuple[float, ...], rate: float) -> None:
    assert crossing(RATES, latencies, 10.0) == pytest.approx(rate, rel=0.01)


def test_a_pass_has_a_block_for_each_rate_and_a_pause_between() -> None:
    queries, block_N = blocks(one_path_plan(), RATES, 2.0, seed=0)
    assert np.bincount(block_N).tolist() == [200, 400, 800]
    assert np.all(np.diff(queries.arrival_ms_N) >= 0)
    for place in (1, 2):
        first = np.flatnonzero(block_N == place)[0]
        assert queries.arrival_ms_N[first] - queries.arrival_ms_N[first - 1] >= 500


def test_a_block_is_cut_into_seconds() -> None:
    plan = one_path_plan()
    trace = served(plan, np.full(1000, 1.0))
    is_own_N = np.arange(1000) >= 300
    parts = seconds(trace, is_own_N)
    assert np.array_equal(np.concatenate(parts), trace.latency_ms_N[is_own_N])
    spans_ms = trace.queries.arrival_ms_N[is_own_N][-1] - trace.queries.arrival_ms_N[300]
    assert len(parts) == spans_ms // 1000 + 1


def test_traces_joined_are_one_after_the_other() -> None:
    plan = one_path_plan()
    one = served(plan, np.full(200, 1.0))
    both = joined([one, one])
    assert both.latency_ms_N == pytest.approx(np.tile(one.latency_ms_N, 2))
    assert both.service_ms_N == pytest.approx(np.tile(one.service_ms_N, 2))
    assert both.queries.arrival_ms_N[200] > both.finish_ms_N[:200].max()


def test_the_highest_rate_of_a_known_server_is_found_with_an_interval() -> None:
    plan = one_path_plan()
    passes = []
    for seed in (0, 100):
        queries, block_N = blocks(plan, (200.0, 600.0, 1200.0), 2.0, seed)
        passes.append((served(plan, np.full(len(queries), 1.0), queries=queries), block_N))
    found = find_highest(plan, (200.0, 600.0, 1200.0), passes)
    assert 600 < found.qps < 1200
    assert found.low_qps <= found.qps <= found.high_qps
    assert (len(found.found_qps), found.open_ended) == (2, 0)


def test_blocks_simulated_with_the_times_that_they_had_give_the_rate_that_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.benchmarks.simulated_blocks.REPETITIONS", 30)
    plan = with_table(one_path_plan(), LatencyTable(sizes=(1, 64), mean_ms=(1.0, 1.0)))
    rates, passes = (200.0, 600.0, 1200.0), []
    for seed in (0, 100):
        queries, block_N = blocks(plan, rates, 2.0, seed)
        factor_N = np.random.default_rng(seed).lognormal(-0.02, 0.2, len(queries))
        passes.append((served(plan, factor_N, queries=queries, dispatch_ms=0.5), block_N))
    found = find_highest(plan, rates, passes)
    assert queue_logic_highest(plan, rates, passes) == pytest.approx(found.qps, rel=0.01)
    scattered = with_table(plan, replace(plan.paths[0].latency, spread="lognormal", sigma=0.2))
    predicted = predict_highest(scattered, rates, passes, late_ms=0.5)
    assert predicted.qps == pytest.approx(found.qps, rel=0.1)
    assert predicted.low_qps <= predicted.qps <= predicted.high_qps
    slower = predict_highest(with_table(plan, LatencyTable(sizes=(1, 64), mean_ms=(2.0, 2.0))), rates, passes)
    assert slower.qps < 0.6 * predicted.qps


def test_error_bars_of_the_table_widen_the_interval_and_leave_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.benchmarks.simulated_blocks.REPETITIONS", 30)
    plan = with_table(one_path_plan(), LatencyTable(sizes=(1, 64), mean_ms=(1.0, 1.0)))
    rates = (200.0, 600.0, 1200.0)
    queries, block_N = blocks(plan, rates, 2.0, 0)
    passes = [(served(plan, np.ones(len(queries)), queries=queries), block_N)]
    barred = replace(plan.paths[0].latency, low_ms=(0.8, 0.8), high_ms=(1.25, 1.25))
    sure, unsure = (predict_highest(one, rates, passes) for one in (plan, with_table(plan, barred)))
    assert (unsure.qps, sure.low_qps, sure.high_qps) == pytest.approx((sure.qps,) * 3)
    assert unsure.low_qps < 0.95 * sure.qps < sure.qps < 0.95 * unsure.high_qps


@given(
    correlation=st.floats(0, 0.9),
    sigma=st.floats(0.05, 0.5),
)
@settings(max_examples=10)
def test_residuals_have_the_table_s_mean_sigma_and_correlation(correlation: float, sigma: float) -> None:
    residual_N = residuals_of(
        LatencyTable(sizes=(1,), mean_ms=(1.0,), spread="lognormal", sigma=sigma, correlation=correlation)
    )
    logs_N = np.log(residual_N)
    assert residual_N.mean() == pytest.approx(1.0, rel=0.08)
    assert logs_N.std() == pytest.approx(sigma, rel=0.08)
    assert np.corrcoef(logs_N[1:], logs_N[:-1])[0, 1] == pytest.approx(correlation, abs=0.03)


def test_components_are_answered_by_measurements_of_them(tmp_path: Path) -> None:
    fitted = RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of)
    cost_model = CostModel(models={"cpu": fitted})
    options = SweepOptions(visits=3, seconds_per_visit=0.0005)
    measured = with_measured_components(cost_model, "cpu", ProfileStore(tmp_path), options)
    answer = measured.predict_model(MODELS["table"], (1, 8), "cpu")
    known = {row.warm.p25_ms for row in ProfileStore(tmp_path).load() if row.warm is not None}
    assert known
    assert {row.mean_ms for row in answer.components if row.kind != "host_link"} <= known


def test_the_stand_in_holds_a_model_for_each_path() -> None:
    plan = stand_in_plan()
    assert [path.representation for path in plan.paths] == ["table", "dhe", "hybrid"]
    assert all(path.model for path in plan.paths)


def test_the_page_of_a_replay_follows_from_its_figures() -> None:
    plan = one_path_plan()
    run = compare_run(plan, None, served(plan, np.full(3000, 1.0)), segment_s=1.0, load=0.3).to_object()
    body = {
        "plan": "one", "policy": "static", "sla_ms": 10.0, "capacity_qps": 1000.0, "runs": [run], "skipped": ["gpu"],
    }  # fmt: skip
    report = {"plan": "by hand", "seconds_per_load": 6.0, "replays": [body], "serve": body, "serve_note": ""}
    page = "\n".join(replay.BENCHMARK.describe(report))
    assert "Every goal is met in this run" in page
    assert "| prediction |" in page
    assert "No figures: none" in "\n".join(replay.BENCHMARK.describe(report | {"serve": None, "serve_note": "none"}))


def test_what_falls_short_is_told() -> None:
    worse = {"p50": 0.2, "p95": 0.0, "p99": -0.5, "sla_violation_share": 0.03}
    run = {"load": 0.3, "error": worse, "spread": worse | {"p99": 0.1}, "queue_logic": {"error": worse}}
    lines = replay.shortfalls({"runs": [run]})
    assert len(lines) == 6
    assert "load 0.3, prediction: p99 is off by -50.0%, goal 15.0%." in lines


def rate(qps: float) -> dict[str, float]:
    return {"qps": qps, "low_qps": qps - 10, "high_qps": qps + 10}


def test_the_parts_of_a_capacity_s_error_multiply_to_the_whole() -> None:
    replayed = {**rate(100.0), "found_qps": [100.0], "open_ended": 1}
    row = {
        "model": "m",
        "sla_ms": 15.0,
        "called": rate(130.0),
        "predicted": rate(110.0),
        "lasting": rate(95.0),
        "known": [{"model": "other", "late_ms": 0.4, "slower": {"1": 1.3, "64": 1.1}}],
        "replayed": replayed,
        "simulated": {"components": 120.0, "whole": 105.0, "fit": 90.0, "replay": 95.0},
    }
    parts = capacity.parts_of(row)
    product = np.prod(
        [1 + parts[name] for name in ("serving", "component", "composition", "while serving", "order", "queueing")]
    )
    assert product == pytest.approx(1 + parts["whole"])
    page = "\n".join(capacity.BENCHMARK.describe({"models": [row], "known": ["other"]}))
    assert "110 (100 to 120)" in page
    assert "+30.0%" in page
    none_held = {**row, "replayed": {**replayed, "qps": 0.0}}
    assert "no rate held" in "\n".join(capacity.BENCHMARK.describe({"models": [none_held], "known": ["other"]}))
    assert "1.30, 1.10 times its prediction at sizes 1, 64" in page
    assert "lower limit" in page


def beside(tabled_ms: tuple[float, float], observed_ms: tuple[float, float]) -> ServedBeside:
    tabled, observed = (LatencyTable(sizes=(1, 64), mean_ms=mean_ms) for mean_ms in (tabled_ms, observed_ms))
    return ServedBeside(
        model="known",
        tabled=tabled,
        observed=replace(observed, spread="lognormal", sigma=0.2),
        late_ms=0.4,
        size_N=np.tile([1, 8, 64], 100),
        residual_N=np.ones(300),
    )


def test_what_a_known_model_was_slower_by_is_applied_size_by_size() -> None:
    known = beside((1.0, 2.0), (2.0, 3.0))
    other = as_served(LatencyTable(sizes=(1, 8, 64), mean_ms=(1.0, 1.0, 4.0), high_ms=(2.0, 2.0, 8.0)), [known])
    # Halfway in log size, the observed table is at the root of 6, the tabled one at that of 2.
    assert other.mean_ms == pytest.approx((2.0, 2.0, 6.0))
    assert other.high_ms == pytest.approx((4.0, 4.0, 12.0))
    assert (other.low_ms, other.sigma) == ((), 0.2)


def test_a_size_that_a_single_query_had_says_nothing_of_its_own() -> None:
    tabled = LatencyTable(sizes=(1, 512, 1024), mean_ms=(1.0, 1.0, 1.0))
    known = replace(
        beside((1.0, 1.0), (1.0, 1.0)),
        tabled=tabled,
        observed=replace(tabled, mean_ms=(1.5, 1.5, 9.0)),
        size_N=np.append(np.tile([1, 8, 64, 512], 100), 1024),
    )
    assert known.slower([1, 1024]) == pytest.approx([1.5, 1.5], rel=0.03)


@pytest.mark.parametrize(("latency", "factor"), [(0.5, 4.0), (2.0, 2.0), (8.0, 1.0), (4.0, 2**0.5), (100.0, 1.0)])
def test_between_two_known_models_the_slowing_follows_the_latency(latency: float, factor: float) -> None:
    known = [beside((8.0, 8.0), (8.0, 8.0)), beside((0.5, 0.5), (2.0, 2.0))]
    other = as_served(LatencyTable(sizes=(1, 64), mean_ms=(latency, latency)), known)
    assert other.mean_ms == pytest.approx((latency * factor,) * 2)


@pytest.mark.slow
def test_a_short_replay_makes_a_page() -> None:
    found = replay_plan(real_plan(), options=ReplayOptions(loads=(0.3,), seconds=2.0)).to_object()
    report = {"plan": "real", "seconds_per_load": 2.0, "replays": [found], "serve": None, "serve_note": "not asked"}
    assert "### Load 0.3" in "\n".join(replay.BENCHMARK.describe(report))
