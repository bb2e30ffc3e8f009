import polars as pl

from serving_sim.frontier import BOUND, frontier_chart, frontier_over_qps
from serving_sim.policies import Headroom, MpRec
from serving_sim.testing import small_plan


def test_the_bound_stands_above_every_policy_at_every_rate() -> None:
    frame = frontier_over_qps(small_plan(queries=3_000), [MpRec(), Headroom()], [500.0, 3000.0])
    assert frame["series"].unique().sort().to_list() == [BOUND, "headroom", "mp-rec"]
    for qps in (500.0, 3000.0):
        at = frame.filter(pl.col("qps") == qps)
        bound = at.filter(pl.col("series") == BOUND)["correct_in_sla_per_s"].item()
        assert at["correct_in_sla_per_s"].max() <= bound * 1.001


def test_the_chart_dashes_the_bound_and_names_the_series() -> None:
    frame = frontier_over_qps(small_plan(queries=500), ["headroom"], [500.0])
    body = frontier_chart(frame).to_dict()
    line = body["layer"][0]
    assert line["mark"]["strokeDash"] == [4, 4]
    assert {row["series"] for row in body["datasets"][line["data"]["name"]]} == {BOUND}
    assert body["layer"][1]["encoding"]["color"]["field"] == "series"
