from functools import cache
from typing import Any

import polars as pl
import pytest

from profiles.charts import icicle_chart, icicle_frame
from profiles.charts.colour_metrics import ICICLE_METRICS, colour_limits, legend_title, reading
from profiles.charts.icicle_gaps import GAP_TEXT
from profiles.errors import UnknownNameError
from profiles.profilers.protocol import Figure
from tests.profiles.rows import latency, row

ROWS = [
    row("0", path="", class_name="Net", in_situ=latency(10.0), warm=latency(9.0), flops=9e9, parameter_bytes=4000),
    row("1", path="(self)", kind="self", depth=1, in_situ=latency(2.0), flops=0.0),
    row("2", path="a", depth=1, in_situ=latency(5.0), warm=latency(4.0), flops=8e9, mfu=0.5),
    row("3", path="list", depth=1, in_situ=latency(3.0), provenance="aggregated", reason="never called"),
    row("4", path="list.0", depth=2, warm=latency(3.0)),
    row("5", path="<b>unused</b>", depth=1, provenance="skipped", reason="never called"),
]


@cache
def chart(metric: str = "latency_ms") -> dict[str, Any]:
    spec: dict[str, Any] = icicle_chart(icicle_frame(ROWS), metric=metric).to_dict()
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
    assert labels == ["Net", "(self)", "a", "Σ list", "0", "× <b>unused</b>"]
    edge = chart()["layer"][0]["encoding"]["stroke"]
    assert edge["condition"][1]["test"] == "datum.provenance === 'aggregated' || datum.provenance === 'estimated'"


def test_numbered_modules_can_be_given_names() -> None:
    labels = icicle_frame(ROWS, names={"list.0": "carrier", "list": "embeddings"})["label"].to_list()
    assert labels[3:5] == ["Σ embeddings", "carrier"]


def parameters(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {parameter["name"]: parameter for parameter in spec["params"]}


def test_a_click_zooms_and_a_double_click_goes_back() -> None:
    spec = chart()
    zoom = parameters(spec)["zoom"]
    assert (zoom["select"]["fields"], zoom["select"]["clear"]) == (["x0", "x1", "path"], "dblclick")
    scale = spec["layer"][0]["encoding"]["x"]["scale"]
    assert scale["domain"] == {
        "expr": "[(isDefined(zoom.x0) ? zoom.x0[0] : 0), (isDefined(zoom.x1) ? zoom.x1[0] : 1.0)]"
    }


def test_metrics_that_are_known_can_be_chosen_and_the_one_asked_for() -> None:
    assert parameters(chart())["metric"]["bind"]["options"] == [
        "latency_ms", "flops", "tflops_per_s", "mfu", "parameter_bytes", "in_situ_over_alone",
    ]  # fmt: skip
    assert "cold_over_warm" in parameters(chart(metric="cold_over_warm"))["metric"]["bind"]["options"]


def test_figures_of_further_profilers_can_be_chosen() -> None:
    figures = (Figure(name="gap_share", title="launch gaps"),)
    rows = [row("0", in_situ=latency(1.0), figures={"gap_share": 0.5})]
    spec = icicle_chart(icicle_frame(rows, figures=figures), metric="gap_share", figures=figures).to_dict()
    assert parameters(spec)["metric"]["bind"]["labels"][-1] == "launch gaps"
    (data,) = spec["datasets"].values()
    assert data[0]["gap_share"] == 0.5


def test_names_can_be_searched() -> None:
    query = parameters(chart())["query"]
    assert (query["value"], query["bind"]["input"]) == ("", "search")


def test_children_that_come_to_more_say_by_how_much() -> None:
    rows = [
        row(in_situ=latency(10.0)),
        row(path="a", depth=1, in_situ=latency(8.0)),
        row(path="b", in_situ=latency(4.0)),
    ]
    frame = icicle_frame(rows)
    assert frame["excess"].to_list() == [pytest.approx(0.2), None, None]
    assert frame["inside_text"].to_list()[0] == "120.0%, 20.0% more than itself"
    assert (frame["end"][0], frame["x1"][0]) == (pytest.approx(1.0), pytest.approx(1.2))


def test_a_hair_more_is_noise() -> None:
    rows = [row(in_situ=latency(10.0)), row(path="a", depth=1, in_situ=latency(10.04))]
    assert icicle_frame(rows)["excess"].to_list() == [None, None]


def test_rows_of_another_phase_are_another_icicle() -> None:
    rows = [*ROWS, row("9", path="a", phase="backward", depth=1, warm=latency(7.0))]
    assert icicle_frame(rows).equals(icicle_frame(ROWS))
    assert icicle_frame(rows, phase="backward")["path"].to_list() == ["a"]


def test_skipped_modules_are_marked_side_by_side_inside_what_holds_them() -> None:
    skipped = [row(path=name, depth=1, provenance="skipped") for name in ("x", "y")]
    early = icicle_frame([row(in_situ=latency(1.0)), *skipped])
    assert early["skipped_px"].to_list()[1:] == [6.0, 16.0]
    late = icicle_frame([row(in_situ=latency(1.0)), row(path="a", depth=1, in_situ=latency(1.0)), *skipped])
    assert late["skipped_px"].to_list()[2:] == [-6.0, -16.0]


def test_hovering_shows_every_figure_and_no_empty_line() -> None:
    shown = chart()["layer"][0]["mark"]["tooltip"]["expr"]
    for title in ("path", "latency", "alone, warm", "alone, cold", "FLOPs", "MFU", "bandwidth", "because"):
        assert f"'{title}': datum." in shown
    assert "datum.reason === '' ? {} :" in shown
    assert icicle_frame(ROWS)["inside_text"].to_list()[2] == ""


def test_what_children_do_not_fill_is_a_gap() -> None:
    rows = [row(in_situ=latency(10.0)), row(path="a", depth=1, in_situ=latency(8.0))]
    assert icicle_frame(rows)["gap"].to_list() == [pytest.approx(0.2), None]
    assert GAP_TEXT in str(icicle_chart(icicle_frame(rows)).to_dict()["layer"][2])


def test_colours_of_a_ratio_end_at_quantiles_and_the_title_says_so() -> None:
    values = [*map(float, range(1, 21)), 1000.0]
    ratio, amount = ICICLE_METRICS["cold_over_warm"], ICICLE_METRICS["latency_ms"]
    assert colour_limits(ratio, values) == (2.0, 20.0)
    assert colour_limits(amount, values) == (1.0, 1000.0)
    assert legend_title(ratio, values) == (
        "time cold over warm, × (square-root scale, clamped to the 5–95 % quantiles)"
    )
    assert legend_title(amount, values) == "latency, ms (square-root scale)"


def test_few_ratios_are_not_clamped() -> None:
    ratio = ICICLE_METRICS["gigabytes_per_s"]
    assert colour_limits(ratio, [1.0, 1000.0]) == (1.0, 1000.0)
    assert legend_title(ratio, [1.0, 1000.0]) == "GB/s (square-root scale)"
    assert colour_limits(ratio, []) == (0.0, 0.0)


def test_hovering_reads_with_units_and_spread() -> None:
    first = icicle_frame([row(warm=latency(4.0), bytes_moved=8e6, bandwidth_share=0.25, mfu=0.5)]).row(0, named=True)
    assert first["warm_text"] == "4 ms ± 800 µs (IQR)"
    assert first["bandwidth_text"] == "2 GB/s, 25.0% of the device's"
    assert (first["mfu_text"], first["cold_text"]) == ("50.0%", "unknown")
    (lookup,) = icicle_frame([row(warm=latency(4.0), flops=0.0)])["mfu_text"]
    assert lookup == "not applicable"


def test_colour_follows_the_metric() -> None:
    spec = chart(metric="cold_over_warm")
    assert parameters(spec)["metric"]["value"] == "cold_over_warm"
    assert spec["layer"][0]["encoding"]["color"]["field"] == "value"
    assert {"calculate": "datum[metric]", "as": "value"} in spec["layer"][0]["transform"]


def test_every_metric_is_a_column_and_reads_with_its_unit() -> None:
    assert set(ICICLE_METRICS) <= set(icicle_frame(ROWS).columns)
    expression = reading(ICICLE_METRICS.values(), "metric", "datum.value")
    for metric in ICICLE_METRICS.values():
        assert f"metric === '{metric.name}' ?" in expression
        assert f"+ '{metric.unit}'" in expression


def test_an_unknown_metric_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="icicle metric: unknown name 'heat'"):
        chart(metric="heat")


def test_no_rows_give_an_empty_frame_of_the_same_columns() -> None:
    assert icicle_frame([]).columns == icicle_frame(ROWS).columns
    assert isinstance(icicle_frame([]), pl.DataFrame)
