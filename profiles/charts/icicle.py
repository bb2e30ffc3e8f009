"""The icicle of a profile: every module a rectangle, as wide as its share of the model's latency."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from profiles.charts.layout import icicle_layout, parent_indices
from profiles.charts.table import component_figures, component_table
from profiles.charts.theme import RAMP, themed
from profiles.errors import UnknownNameError
from profiles.records import ComponentProfile
from profiles.units import format_bytes, format_count, format_ms

__all__ = ["ICICLE_METRICS", "icicle_chart", "icicle_frame"]

ICICLE_METRICS = {
    "latency_ms": "latency, ms",
    "flops": "FLOPs",
    "tflops_per_s": "TFLOP/s",
    "mfu": "MFU",
    "gigabytes_per_s": "GB/s",
    "bandwidth_share": "share of bandwidth",
    "parameter_bytes": "parameter bytes",
}
_ROW_HEIGHT = 34
_LABEL_LIMIT_PX, _LABEL_PAD_PX, _PX_PER_LETTER = 160, 4, 6.5
_LEFT, _RIGHT = "(isDefined(zoom.x0) ? zoom.x0[0] : 0)", "(isDefined(zoom.x1) ? zoom.x1[0] : 1)"


def icicle_frame(rows: Sequence[ComponentProfile], *, names: Mapping[str, str] | None = None) -> pl.DataFrame:
    """The component figures of every row, its rectangle (`x0`, `x1`, `depth`, `depth_end`), and texts for tooltips.

    `rows` are in tree order, the model first, as `ModelProfile.rows` are. `names` are labels by path, for modules that
    are only numbered.
    """
    figures = [component_figures(row) for row in rows]
    values = [max(figure["latency_ms"] or 0.0, 0.0) for figure in figures]
    places = icicle_layout(values, parent_indices([row.path for row in rows]))
    columns: dict[str, list[Any]] = {
        "x0": [place.x0 for place in places],
        "x1": [place.x1 for place in places],
        "depth_end": [place.depth + 1 for place in places],
        "label": [
            ("Σ " if row.provenance == "aggregated" else "") + (names or {}).get(row.path, figure["name"])
            for row, figure in zip(rows, figures, strict=True)
        ],
        "share": [place.x1 - place.x0 for place in places],
        "latency_text": [_text(figure["latency_ms"], format_ms) for figure in figures],
        "flops_text": [_text(figure["flops"], lambda count: format_count(count, "FLOP")) for figure in figures],
        "size_text": [_text(figure["parameter_bytes"], format_bytes) for figure in figures],
    }
    frame = pl.DataFrame(figures, schema=component_table(()).schema, orient="row")
    depths = pl.Series("depth", [place.depth for place in places], dtype=pl.Int64)
    return frame.with_columns(depths, *(pl.Series(name, column) for name, column in columns.items()))


def icicle_chart(
    frame: pl.DataFrame, *, metric: str = "latency_ms", width: int = 900, title: str = ""
) -> alt.LayerChart:
    """An icicle coloured by a metric: a click zooms into a module, a double click goes back.

    Modules whose figures are summed from their children have a dark edge and a Σ before their name.

    Raises:
        UnknownNameError: a metric that is not one of `ICICLE_METRICS`.
    """
    if metric not in ICICLE_METRICS:
        raise UnknownNameError("icicle metric", metric, ICICLE_METRICS)
    zoom = alt.selection_point(name="zoom", fields=["x0", "x1"], on="click", clear="dblclick")
    scale = alt.Scale(domainMin=alt.ExprRef(_LEFT), domainMax=alt.ExprRef(_RIGHT), nice=False, zero=False)
    x_axis = alt.X("x0:Q", scale=scale, axis=alt.Axis(format="%", title="share of the model's latency"))
    base = alt.Chart(frame.filter(pl.col("x1") > pl.col("x0")))
    rectangles = (
        base.mark_rect(clip=True, strokeWidth=1.5)
        .encode(
            x=x_axis,
            x2="x1:Q",
            y=alt.Y("depth:Q", scale=alt.Scale(reverse=True, nice=False), axis=None),
            y2="depth_end:Q",
            color=alt.Color(f"{metric}:Q", title=ICICLE_METRICS[metric], scale=alt.Scale(range=list(RAMP))),
            stroke=alt.condition("datum.provenance === 'aggregated'", alt.value("#333333"), alt.value("white")),
            tooltip=_tooltips(),
        )
        .add_params(zoom)
    )
    heading = alt.TitleParams(title, subtitle="Σ and a dark edge: not measured itself, summed from its children")
    levels = frame["depth_end"].n_unique()
    chart = alt.LayerChart(
        layer=[rectangles, _labels(base, scale)], width=width, height=_ROW_HEIGHT * levels, title=heading
    )
    return themed(chart)


def _labels(base: alt.Chart, scale: alt.Scale) -> alt.Chart:
    """Names of the modules wide enough to hold one, kept inside the zoomed window."""
    left, right = f"max(datum.x0, {_LEFT})", f"min(datum.x1, {_RIGHT})"
    room_px = f"({right} - {left}) / ({_RIGHT} - {_LEFT}) * width"
    is_wide = f"{room_px} > min({_LABEL_LIMIT_PX}, {_PX_PER_LETTER} * length(datum.label)) + {2 * _LABEL_PAD_PX}"
    labels: alt.Chart = (
        base.transform_calculate(middle="(datum.depth + datum.depth_end) / 2", left=left)
        .transform_filter(is_wide)
        .mark_text(clip=True, align="left", dx=_LABEL_PAD_PX, limit=_LABEL_LIMIT_PX, fontSize=11)
        .encode(
            x=alt.X("left:Q", scale=scale),
            y=alt.Y("middle:Q"),
            text="label:N",
            color=alt.value("black"),
        )
    )
    return labels


def _tooltips() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("path:N"),
        alt.Tooltip("class_name:N", title="class"),
        alt.Tooltip("calls:Q"),
        alt.Tooltip("latency_text:N", title="latency"),
        alt.Tooltip("share:Q", format=".1%", title="share of the model"),
        alt.Tooltip("in_situ_ms:Q", format=".4g", title="in the model, ms"),
        alt.Tooltip("warm_ms:Q", format=".4g", title="alone, warm, ms"),
        alt.Tooltip("warm_iqr_ms:Q", format=".2g", title="IQR, ms"),
        alt.Tooltip("cold_ms:Q", format=".4g", title="alone, cold, ms"),
        alt.Tooltip("flops_text:N", title="FLOPs"),
        alt.Tooltip("tflops_per_s:Q", format=".3g", title="TFLOP/s"),
        alt.Tooltip("mfu:Q", format=".1%", title="MFU"),
        alt.Tooltip("gigabytes_per_s:Q", format=".3g", title="GB/s"),
        alt.Tooltip("size_text:N", title="parameters"),
        alt.Tooltip("provenance:N"),
        alt.Tooltip("reason:N"),
    ]


def _text(value: float | None, form: Callable[[float], str]) -> str:
    return "unknown" if value is None else form(value)
