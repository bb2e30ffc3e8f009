import polars as pl
import pytest

from serving_sim.capacity import find_capacity
from serving_sim.charts_load import (
    BOUND,
    capacity_accuracy_chart,
    capacity_accuracy_frame,
    goodput_chart,
    load_over_qps,
)
from serving_sim.engine import simulate
from serving_sim.testing import small_plan


def test_a_sweep_has_a_row_per_policy_and_rate_and_one_of_the_bound() -> None:
    plan = small_plan(queries=1000)
    frame = load_over_qps(plan, ["static", "mp-rec"], [200, 2000])
    assert frame["policy"].to_list() == ["static", "mp-rec", BOUND] * 2
    alone = simulate(plan, policy="mp-rec", qps=200)
    row = frame.filter(policy="mp-rec", qps=200.0).row(0, named=True)
    assert row["goodput_qps"] == pytest.approx(alone.goodput_qps)
    assert row["violation_share"] == alone.sla_violation_share
    assert row["right_share"] == pytest.approx(alone.accuracy * (1 - alone.sla_violation_share), rel=0.15)


def test_the_bound_is_above_every_policy_under_overload_too() -> None:
    frame = load_over_qps(small_plan(queries=2000), ["mp-rec", "table-switch", "headroom"], [500, 5000, 20_000])
    for qps in frame["qps"].unique():
        at = frame.filter(qps=qps)
        bound = at.filter(policy=BOUND)["correct_in_sla_per_s"].item()
        assert at["correct_in_sla_per_s"].max() <= bound * (1 + 1e-9)


def test_goodput_is_drawn_beside_all_that_was_offered() -> None:
    frame = load_over_qps(small_plan(queries=500), ["static"], [100, 1000])
    body = goodput_chart(frame).to_dict()
    assert [layer["mark"]["type"] for layer in body["layer"]] == ["line", "line"]
    every = body["datasets"][body["layer"][0]["data"]["name"]]
    assert [row["goodput_qps"] for row in every] == [100.0, 1000.0]


def test_capacity_stands_beside_accuracy_below_the_bound() -> None:
    plan = small_plan(queries=1000)
    found = find_capacity(plan, ["static", "mp-rec"], seeds=2, queries=1000, resolution=0.05).to_object()["policies"]
    frame = capacity_accuracy_frame(found, load_over_qps(plan, ["static"], [200, 400]))
    assert frame["series"].to_list() == ["static", "mp-rec", BOUND, BOUND]
    assert frame["qps"][0] == found[0]["max_qps"]
    assert frame.filter(pl.col("series") == BOUND)["ci_low"].null_count() == 2
    body = capacity_accuracy_chart(frame).to_dict()
    assert [layer["mark"]["type"] for layer in body["layer"]] == ["line", "rule", "point"]


def test_a_policy_without_a_capacity_has_no_point() -> None:
    plan = small_plan(queries=500)
    frame = capacity_accuracy_frame(
        [{"policy": "static", "max_qps": 0.0, "ci_low": 0.0, "ci_high": 0.0, "accuracy": 0.8}],
        load_over_qps(plan, ["static"], [100]),
    )
    assert frame["series"].to_list() == [BOUND]


def test_no_share_of_right_predictions_exceeds_the_most_accurate_path() -> None:
    plan = small_plan(queries=300)
    frame = load_over_qps(plan, ["headroom", "mp-rec"], [50, 100])
    most = max(path.accuracy for path in plan.paths) * (1 + 1e-9)
    assert all(share <= most for share in frame["right_share"].to_list())
