import numpy as np
import pytest

from serving_sim.policies import Headroom, MpRec
from serving_sim.testing import small_plan
from tests.benchmarks.headroom import BENCHMARK, shortfalls
from tests.benchmarks.headroom_limits import best_in_hindsight_per_s, plan_ahead, planned_per_s
from tests.benchmarks.headroom_scenarios import CONDITIONS, HARDWARE, draw_load


@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_policy_beats_the_bound_of_its_condition(condition: str) -> None:
    load = draw_load(small_plan(), condition, 2_000)
    qps = 0.9 * load.capacity_qps
    bound = load.bound_per_s(qps, 5)
    for policy in (Headroom(), MpRec()):
        assert 0 < load.serve(policy, qps).correct_per_s <= bound * (1 + 1e-9)


def test_a_plan_made_ahead_keeps_to_the_bound_and_beats_what_is_chosen_in_hindsight() -> None:
    load = draw_load(small_plan(), "bursts", 2_000)
    qps = 0.9 * load.capacity_qps
    bound = load.bound_per_s(qps, 5)
    assert 0 < best_in_hindsight_per_s(load, qps) < planned_per_s(load, qps) <= bound


def test_a_plan_made_ahead_takes_the_larger_of_two_queries_that_cannot_both_be_in_time() -> None:
    arrival_ms_N, service_ms_NP = np.array([0.0, 1.0, 20.0]), np.array([[6.0], [8.0], [9.0]])
    one = np.array([0]), np.array([1])
    assert plan_ahead(arrival_ms_N, service_ms_NP, *one, 10.0, np.array([5, 7, 1])).tolist() == [-1, 0, 0]
    assert plan_ahead(arrival_ms_N, service_ms_NP, *one, 10.0, np.array([7, 5, 1])).tolist() == [0, -1, 0]
    two = np.array([0]), np.array([2])
    assert plan_ahead(arrival_ms_N, service_ms_NP, *two, 10.0, np.array([5, 7, 1])).tolist() == [0, 0, 0]


def test_wrong_tables_change_the_service_times_and_not_what_routers_read() -> None:
    plan = small_plan()
    right, wrong = (draw_load(plan, condition, 500) for condition in ("steady", CONDITIONS[-1]))
    assert np.array_equal(right.paths.service_ms_SP, wrong.paths.service_ms_SP)
    assert set(wrong.chunk.factor_KN.ravel()) == {0.9, 1.1}
    assert np.all(wrong.paths.uncertain_D == 1)


def test_what_falls_short_is_named() -> None:
    row = {"hardware": next(iter(HARDWARE)), "condition": "steady", "load": 0.9, "bound": 100.0}
    found = {"mp_rec": 98.0, "greedy": 50.0, "headroom": 97.0}
    assert shortfalls([{**row, **found, "headroom": 99.0}]) == []
    below, fewer = shortfalls([{**row, **found}])
    assert "90%: 97.0%" in below
    assert "1.020% fewer correct predictions than mp-rec" in fewer


def test_the_page_and_the_chart_show_every_hardware_and_condition() -> None:
    names = ("mp_rec", "greedy", "headroom")
    rows = [
        {
            "hardware": hardware, "condition": condition, "load": 0.9, "qps": 1000.0, "bound": 100.0,
            **{f"{name}{part}": 0.1 for name in names for part in ("", "_violated", "_refused")},
            "planned": 0.3, "hindsight": 0.2,
        }
        for hardware in HARDWARE
        for condition in CONDITIONS
    ]  # fmt: skip
    report = {"queries": 10, "rows": rows, "variants": []}
    text = "\n".join(BENCHMARK.describe(report))
    assert all(f"## {hardware}" in text for hardware in HARDWARE)
    assert BENCHMARK.charts is not None
    assert BENCHMARK.charts(report)["headroom"].startswith("<svg")
