from typing import Any

import polars as pl
import pytest

from profiles.charts import icicle_chart, icicle_frame
from profiles.charts.icicle import ICICLE_METRICS
from profiles.errors import UnknownNameError
from profiles.records import ComponentProfile
from tests.profiles.rows import latency, row

ROWS = [
    row("0", path="", class_name="Net", in_situ=latency(10.0), warm=latency(9.0), flops=9e9, parameter_bytes=4000),
    row("1", path="(self)", kind="self", depth=1, in_situ=latency(2.0), flops=0.0),
    row("2", path="a", depth=1, in_situ=latency(5.0), warm=latency(4.0), flops=8e9, mfu=0.5),
    row("3", path="list", depth=1, in_situ=latency(3.0), provenance="aggregated", reason="never called"),
    row("4", path="list.0", depth=2, warm=latency(3.0)),
    row("5", path="<b>unused</b>", depth=1, provenance="skipped", reason="never called"),
]


def chart(rows: list[ComponentProfile] | None = None, **options: Any) -> dict[str, Any]:
    spec: dict[str, Any] = icicle_chart(icicle_frame(rows or ROWS), **options).to_dict()
    return spec


def test_rectangles_are_shares_of_the_time_in_the_model() -> None:
    frame = icicle_frame(ROWS)
    assert frame["share"].to_list() == pytest.approx([1.0, 0.2, 0.5, 0.3, 0.3, 0.0])
    assert frame["x0"].to_list() == pytest.approx([0.0, 0.0, 0.2, 0.7, 0.7, 1.0])
    assert frame["depth"].to_list() == [0, 1, 1, 1, 2, 1]
    assert (frame["depth_end"] - frame["depth"]).unique().to_list() == [1]


def test_figures_and_texts_stand_beside_the_rectangles() -> None:
    first = icicle_frame(ROWS).row(0, named=True)
    assert (first["latency_ms"], first["warm_ms"], first["tflops_per_s"]) == (10.0, 9.0, 1.0)
    assert (first["latency_text"], first["flops_text"], first["size_text"]) == ("10 ms", "9 GFLOP", "4 kB")
    assert icicle_frame(ROWS)["latency_text"].to_list()[-1] == "unknown"


def test_aggregated_modules_are_marked() -> None:
    labels = icicle_frame(ROWS)["label"].to_list()
    assert labels == ["Net", "(self)", "a", "Σ list", "0", "<b>unused</b>"]
    edge = chart()["layer"][0]["encoding"]["stroke"]
    assert edge["condition"]["test"] == "datum.provenance === 'aggregated'"


def test_numbered_modules_can_be_given_names() -> None:
    labels = icicle_frame(ROWS, names={"list.0": "carrier", "list": "embeddings"})["label"].to_list()
    assert labels[3:5] == ["Σ embeddings", "carrier"]


def test_a_click_zooms_and_a_double_click_goes_back() -> None:
    spec = chart()
    (zoom,) = spec["params"]
    assert zoom["name"] == "zoom"
    assert (zoom["select"]["fields"], zoom["select"]["clear"]) == (["x0", "x1"], "dblclick")
    scale = spec["layer"][0]["encoding"]["x"]["scale"]
    assert scale["domainMin"] == {"expr": "(isDefined(zoom.x0) ? zoom.x0[0] : 0)"}
    assert scale["domainMax"] == {"expr": "(isDefined(zoom.x1) ? zoom.x1[0] : 1)"}


def test_tooltips_show_every_figure() -> None:
    fields = {tooltip["field"] for tooltip in chart()["layer"][0]["encoding"]["tooltip"]}
    assert {"path", "latency_text", "in_situ_ms", "warm_ms", "cold_ms", "flops_text", "mfu", "size_text"} <= fields
    assert {"gigabytes_per_s", "provenance", "reason"} <= fields


@pytest.mark.parametrize("metric", ICICLE_METRICS)
def test_colour_follows_the_metric(metric: str) -> None:
    assert chart(metric=metric)["layer"][0]["encoding"]["color"]["field"] == metric


def test_an_unknown_metric_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="icicle metric: unknown name 'heat'"):
        chart(metric="heat")


def test_modules_without_time_are_not_drawn() -> None:
    (data,) = chart()["datasets"].values()
    assert [line["path"] for line in data] == ["", "(self)", "a", "list", "list.0"]


def test_no_rows_give_an_empty_frame_of_the_same_columns() -> None:
    assert icicle_frame([]).columns == icicle_frame(ROWS).columns
    assert isinstance(icicle_frame([]), pl.DataFrame)
