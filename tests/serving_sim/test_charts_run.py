"""Charts of single runs, and the folder of all of them."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from serving_sim.charts_cost import cost_chart, cost_frame
from serving_sim.charts_queue import queue_chart, queue_frame
from serving_sim.charts_saved import save_charts
from serving_sim.engine import simulate
from serving_sim.plan import Plan
from serving_sim.testing import small_plan


def priced() -> Plan:
    plan = small_plan()
    return replace(plan, devices=tuple(replace(one, price_per_hour=1.8) for one in plan.devices))


def test_queues_have_a_row_per_device_and_bin() -> None:
    result = simulate(small_plan(qps=3000))
    frame = queue_frame(result)
    assert set(frame["device"]) == {"cpu", "gpu"}
    own = frame.filter(device="gpu")
    assert own["start_s"].to_list() == pytest.approx([place * result.queue.bin_s for place in range(len(own))])
    assert tuple(own["mean_backlog_ms"]) == result.queue.mean_backlog_ms["gpu"]
    assert (own["max_backlog_ms"] >= own["mean_backlog_ms"]).all()


def test_the_sla_s_line_is_drawn_where_queues_come_near_it() -> None:
    busy = queue_frame(simulate(small_plan(qps=5000)))
    idle = busy.with_columns(max_backlog_ms=pl.lit(0.1), mean_backlog_ms=pl.lit(0.05))
    assert len(queue_chart(busy, 10.0).to_dict()["layer"]) == 3
    assert len(queue_chart(idle, 10.0).to_dict()["layer"]) == 2
    body = queue_chart(idle, 0.2, 1.0).to_dict()
    assert body["datasets"][body["layer"][2]["data"]["name"]] == [{"sla_ms": 0.2}]


def test_the_legend_of_queues_is_not_as_faint_as_their_areas() -> None:
    area, *_ = queue_chart(queue_frame(simulate(small_plan(qps=5000))), 10.0).to_dict()["layer"]
    assert area["encoding"]["color"]["legend"]["symbolOpacity"] == 1 > area["mark"]["opacity"]


def test_costs_and_energy_are_those_of_the_results() -> None:
    result = simulate(priced())
    row = cost_frame({"mp-rec": result}).row(0, named=True)
    assert row["cost_per_million_correct"] == result.cost_per_million_correct
    assert row["energy_j_per_query"] == result.energy_j_per_query
    right = result.correct_predictions_in_sla_per_s * result.duration_s / result.counted
    assert row["correct_per_j"] == pytest.approx(right / (result.energy_j_per_query or 0))


def test_a_figure_that_no_policy_has_is_not_drawn() -> None:
    frame = cost_frame({"mp-rec": simulate(small_plan())})
    assert cost_chart(frame, "cost_per_million_correct") is None
    chart = cost_chart(frame, "energy_j_per_query")
    assert chart is not None
    assert [layer["mark"]["type"] for layer in chart.to_dict()["layer"]] == ["bar", "text"]


def test_a_folder_holds_frames_charts_and_a_page(tmp_path: Path) -> None:
    files = save_charts(small_plan(queries=500), "static", tmp_path)
    assert set(files) == {"latency.csv", "path_share.csv", "queue.csv", "cost.csv", "load.csv", "charts.html"}
    load = pl.read_parquet(tmp_path / "load.parquet")
    assert set(load["policy"]) == {"static", "mp-rec", "table-switch", "headroom", "fluid bound"}
    frontier = json.loads((tmp_path / "frontier.vl.json").read_text())
    assert frontier["title"] == "Correct predictions in the SLA over load"
    assert (tmp_path / "charts.html").stat().st_size > 500_000
