import polars as pl
import pytest

from profiles.charts.theme import PALETTE
from serving_sim.charts import (
    latency_chart,
    latency_frame,
    path_share_chart,
    path_share_frame,
    violations_chart,
    violations_over_qps,
)
from serving_sim.engine import simulate
from serving_sim.testing import small_plan


def test_the_latency_frame_tells_the_share_of_slower_queries() -> None:
    results = {name: simulate(small_plan(), policy=name) for name in ("static", "mp-rec")}
    frame = latency_frame(results)
    for name, result in results.items():
        rows = frame.filter(policy=name)
        assert rows["slower_share"].is_sorted(descending=True)
        assert rows["slower_share"][-1] == 0
        slower = rows.filter(rows["latency_ms"] >= result.latency_ms["p95"])["slower_share"][0]
        assert slower == pytest.approx(0.05, abs=0.005)


def test_labels_of_latencies_leave_room_between_them() -> None:
    body = latency_chart(latency_frame({"a": simulate(small_plan())}), 10.0).to_dict()
    axis = body["layer"][0]["encoding"]["x"]["axis"]
    assert axis["labelOverlap"] == "greedy"
    assert axis["labelSeparation"] > 0


def test_the_latency_chart_draws_a_rule_at_the_sla() -> None:
    body = latency_chart(latency_frame({"a": simulate(small_plan())}), 10.0).to_dict()
    assert [layer["mark"]["type"] for layer in body["layer"]] == ["line", "rule"]
    assert body["layer"][0]["encoding"]["x"]["scale"] == {"type": "log"}
    assert body["config"]["range"]["category"][0] == PALETTE[0]


def test_lines_that_coincide_differ_in_dashes_width_and_order() -> None:
    result = simulate(small_plan())
    frame = latency_frame({"b": result, "a": result})
    line = latency_chart(frame, 10.0).to_dict()["layer"][0]["encoding"]
    assert line["color"]["sort"] == ["b", "a"]
    for channel in ("strokeDash", "strokeWidth"):
        scale = line[channel]["scale"]
        assert scale["domain"] == ["b", "a"]
        assert scale["range"][0] != scale["range"][1]
    assert line["strokeWidth"]["scale"]["range"] == sorted(line["strokeWidth"]["scale"]["range"], reverse=True)


def test_every_class_s_sla_has_a_rule() -> None:
    body = latency_chart(latency_frame({"a": simulate(small_plan())}), 8.0, 40.0).to_dict()
    assert body["title"] == "Latency against the classes' SLAs of 8, 40 ms"
    rows = body["datasets"][body["layer"][1]["data"]["name"]]
    assert [row["sla_ms"] for row in rows] == [8.0, 40.0]


def test_path_shares_of_each_size_class_add_up_to_one() -> None:
    result = simulate(small_plan())
    frame = path_share_frame(result)
    assert frame["queries"].sum() == result.counted
    shares = frame.group_by("size_class").agg(pl.col("share").sum())["share"].to_list()
    assert shares == pytest.approx([1.0] * len(shares))
    assert set(frame["path"]) == set(result.path_share)


def test_the_path_chart_stacks_paths_over_ordered_size_classes() -> None:
    body = path_share_chart(path_share_frame(simulate(small_plan()))).to_dict()
    sizes = body["encoding"]["x"]["sort"]
    assert sizes == sorted(sizes, key=lambda label: int(label.split("-")[0]))
    assert body["encoding"]["y"]["stack"] == "zero"


def test_violations_grow_with_the_rate() -> None:
    frame = violations_over_qps(small_plan(), ["static", "mp-rec"], [100, 5000])
    assert frame["policy"].to_list() == ["static", "static", "mp-rec", "mp-rec"]
    assert frame["violation_share"][0] < 0.01 < frame["violation_share"][1]
    body = violations_chart(frame, 0.01).to_dict()
    assert [layer["mark"]["type"] for layer in body["layer"]] == ["line", "rule"]
