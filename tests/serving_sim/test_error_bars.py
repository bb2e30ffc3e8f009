import math
from dataclasses import astuple, replace

import numpy as np
import pytest

from serving_sim.engine import SimulationOptions, simulate, start_simulation
from serving_sim.error_bars import LATE, ErrorBar, Figures, run_bars, sections_of
from serving_sim.kernels import BINS
from serving_sim.plan import PolicyChoice, QueryClass
from serving_sim.self_check import QUEUES, queue_plan
from serving_sim.testing import small_plan
from tests.serving_sim.test_capacity_errors import with_bars

BINNED = SimulationOptions(exact_queries=0, fluid_bound=False)


def test_intervals_hold_what_theory_says_of_a_busy_queue_as_often_as_they_should() -> None:
    """M/M/1 at load 0.8, where latencies are exponential of mean 5 services: 95 in 100 of the intervals, roughly."""
    p95_ms, runs = 5 * math.log(20), 100
    held = {"p50": 0, "p95": 0, LATE: 0}
    for seed in range(runs):
        plan = queue_plan(QUEUES[0], 0.8, 50_000, seed=seed).at(sla_ms=p95_ms)
        bars = simulate(plan, options=BINNED).error_bars
        for name, exact in (("p50", 5 * math.log(2)), ("p95", p95_ms), (LATE, 0.05)):
            low, high = bars[name].ci_low, bars[name].ci_high
            held[name] += low is not None and high is not None and low <= exact <= high
    assert all(0.9 * runs <= count <= 0.98 * runs for count in held.values()), held


def test_the_share_of_late_queries_spreads_by_its_sections() -> None:
    late_K, counted_K = np.array([*range(10, 20), 3]), np.array([*[200] * 10, 40])
    histogram_KB = np.zeros((11, BINS), dtype=np.int64)
    histogram_KB[:, 4000] = counted_K
    latency_ms = dict.fromkeys(("p50", "p95", "p99", "p999"), 3.0)
    bars = run_bars(histogram_KB, counted_K, late_K, latency_ms, done=10)
    share = late_K.sum() / 2040
    spread = math.sqrt(((late_K[:10] / 200 - share) ** 2).sum() / 9)
    half = 2.262 * spread * math.sqrt(200 / 2040)
    assert astuple(bars[LATE]) == pytest.approx((share - half, share + half, None, None))
    assert astuple(bars["p50"]) == pytest.approx((3.0, 3.0, None, None))
    assert bars["p95"] == bars["p99"] == bars["p999"] == ErrorBar()


def test_an_interval_holds_its_figure_and_is_the_same_in_any_chunks_and_without_exact_latencies() -> None:
    classes = tuple(QueryClass(name=name, share=0.5, sla_ms=sla_ms) for name, sla_ms in (("a", 1.0), ("b", 10.0)))
    plan = small_plan(queries=9_000).at(classes=classes)
    whole = simulate(plan)
    assert whole == simulate(plan, options=SimulationOptions(chunk_queries=1_013))
    binned = simulate(plan, options=replace(BINNED, chunk_queries=100))
    pairs: list[tuple[Figures, Figures]] = [(whole, binned), *zip(whole.classes, binned.classes, strict=True)]
    for one, other in pairs:
        for name in ("p50", "p95"):
            low, high = astuple(one.error_bars[name])[:2]
            assert low <= one.latency_ms[name] <= high
            assert astuple(other.error_bars[name])[:2] == pytest.approx((low, high), rel=0.004)


def test_a_run_longer_than_planned_has_intervals_of_the_sections_planned() -> None:
    simulation = start_simulation(small_plan(queries=2_000))
    simulation.advance(5_000)
    bar = simulation.result().error_bars["p50"]
    assert bar.ci_low is not None
    assert sections_of(1_980) == (10, 128)


def test_too_few_queries_and_a_growing_backlog_have_no_interval() -> None:
    few = simulate(small_plan(queries=500)).error_bars
    assert set(few.values()) == {ErrorBar()}
    overloaded = simulate(small_plan(qps=1e5, queries=5_000))
    assert overloaded.verdict == "overloaded"
    assert set(overloaded.error_bars.values()) == {ErrorBar()}


def test_tables_that_are_known_to_so_much_have_an_interval_of_their_own() -> None:
    plan = with_bars(small_plan(qps=50, policy=PolicyChoice(name="static")), 0.1)
    plain, both = simulate(plan), simulate(plan, table_errors=True)
    assert replace(both, error_bars=plain.error_bars) == plain
    for name, value in {**plain.latency_ms, LATE: plain.sla_violation_share}.items():
        bar, alone = both.error_bars[name], plain.error_bars[name]
        assert (bar.ci_low, bar.ci_high) == (alone.ci_low, alone.ci_high)
        assert bar.table_low is not None
        assert bar.table_high is not None
        assert bar.table_low <= value <= bar.table_high
    assert both.error_bars["p50"].table_high == pytest.approx(1.12 * plain.latency_ms["p50"], rel=0.02)
    assert simulate(small_plan(), table_errors=True) == simulate(small_plan())
