import numpy as np
import pytest

from serving_sim.policies import Headroom, MpRec
from serving_sim.testing import small_plan
from tests.benchmarks.headroom import BENCHMARK, shortfalls
from tests.benchmarks.headroom_scenarios import CONDITIONS, HARDWARE, draw_load


@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_policy_beats_the_bound_of_its_condition(condition: str) -> None:
    load = draw_load(small_plan(), condition, 2_000)
    qps = 0.9 * load.capacity_qps
    bound = load.bound_per_s(qps, 5)
    for policy in (Headroom(), MpRec()):
        assert 0 < load.serve(policy, qps).correct_per_s <= bound * (1 + 1e-9)


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
        }
        for hardware in HARDWARE
        for condition in CONDITIONS
    ]  # fmt: skip
    report = {"queries": 10, "rows": rows, "variants": []}
    text = "\n".join(BENCHMARK.describe(report))
    assert all(f"## {hardware}" in text for hardware in HARDWARE)
    assert BENCHMARK.charts is not None
    assert BENCHMARK.charts(report)["headroom"].startswith("<svg")
