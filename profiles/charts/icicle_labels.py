"""What is written into an icicle: names and values, the line above it, and what hovering shows."""

import json
from collections.abc import Iterable, Mapping

import altair as alt

from profiles.charts.colour_metrics import ColourMetric, chosen, reading

__all__ = [
    "GRADIENT_PX",
    "HOVERED",
    "IS_PALE",
    "IS_SEARCHING",
    "LEFT",
    "STRIP",
    "colour_title",
    "excess_labels",
    "name_labels",
    "strip",
    "tooltip",
    "width_px",
]

LEFT = "(isDefined(zoom.x0) ? zoom.x0[0] : 0)"
IS_SEARCHING = "length(trim(query)) > 0"
IS_PALE = f"{IS_SEARCHING} && !datum.is_match"
# The height of the line above the modules, in rows.
STRIP = 0.7
GRADIENT_PX = 320
# From the modules up to the middle of the legend's gradient, and from its end to its title.
_LEGEND_PX, _TITLE_GAP_PX = 38, 14
_PAD_PX, _LEAST_ROOM_PX, _PX_PER_LETTER = 5, 24, 6.2
_INK, _MUTED, _MATCH, _EXCESS_INK = "#111111", "#33424d", "#A63C00", "#A63C00"
_HINT = "'click a module to zoom in, double click to go back'"
_ZOOMED = "'↺ whole model   ›   ' + zoom.path[0] + '   (double click or click here to go back)'"

HOVERED: Mapping[str, str] = {
    "path": "path",
    "class_name": "class",
    "calls": "calls",
    "latency_text": "latency",
    "share_text": "share of the model",
    "inside_text": "its children together",
    "in_situ_text": "in the model",
    "warm_text": "alone, warm",
    "cold_text": "alone, cold",
    "flops_text": "FLOPs",
    "tflops_text": "TFLOP/s",
    "mfu_text": "MFU",
    "bandwidth_text": "bandwidth",
    "size_text": "parameters",
    "memory_text": "peak memory",
    "provenance": "figures are",
    "reason": "because",
}


def width_px(right: str, start: str = "x0", end: str = "end") -> str:
    """How wide a rectangle is in the zoomed window, which ends at `right`."""
    return f"((min(datum.{end}, {right}) - max(datum.{start}, {LEFT})) / ({right} - {LEFT}) * width)"


def name_labels(base: alt.Chart, scale: alt.Scale, right: str, metrics: Iterable[ColourMetric]) -> list[alt.Chart]:
    """The module's name, and below it its value of the chosen metric, where there is room, inside the zoomed window."""
    room_px = f"({width_px(right)} - {2 * _PAD_PX})"
    placed = base.transform_calculate(
        start=f"max(datum.x0, {LEFT})",
        upper="datum.depth + 0.34",
        lower="datum.depth + 0.72",
        reading=f"isValid(datum.value) ? {reading(metrics, 'metric', 'datum.value')} : ''",
    )
    whole = f"{room_px} > max({_LEAST_ROOM_PX}, {_PX_PER_LETTER} * length(datum.reading))"
    pale = alt.when(IS_PALE).then(alt.value(0.5)).otherwise(alt.value(1))
    names: alt.Chart = (
        placed.transform_filter(f"{room_px} > {_LEAST_ROOM_PX}")
        .mark_text(
            clip=True, align="left", dx=_PAD_PX, limit=alt.ExprRef(room_px), fontSize=11.5, fontWeight=500, color=_INK
        )
        .encode(x=alt.X("start:Q", scale=scale), y=alt.Y("upper:Q"), text="label:N", opacity=pale)
    )
    values: alt.Chart = (
        placed.transform_filter(whole)
        .mark_text(clip=True, align="left", dx=_PAD_PX, fontSize=10, color=_MUTED)
        .encode(x=alt.X("start:Q", scale=scale), y=alt.Y("lower:Q"), text="reading:N", opacity=pale)
    )
    return [names, values]


def excess_labels(base: alt.Chart, scale: alt.Scale, right: str) -> list[alt.Chart]:
    """By how much a module's children come to more than it does: beside it, or at its end where there is no room."""
    room_px, needed_px = width_px(right, "end", "x1"), f"({_PX_PER_LETTER} * length(datum.text) + {_PAD_PX})"
    placed = base.transform_calculate(
        start=f"max(datum.end, {LEFT})",
        middle="datum.depth + 0.5",
        lower="datum.depth + 0.72",
        text="'+' + format(datum.excess, datum.excess < 0.1 ? '.1~%' : '.0%')",
    )
    beside = placed.transform_filter(f"{room_px} > {needed_px}").mark_text(
        clip=True, align="left", dx=_PAD_PX, fontSize=10, color=_EXCESS_INK
    )
    inside = (
        placed.transform_filter(f"{room_px} > 0 && {room_px} <= {needed_px}")
        .transform_filter(f"{width_px(right)} > 3 * {needed_px}")
        .mark_text(clip=True, align="right", dx=-_PAD_PX, fontSize=10, color=_EXCESS_INK)
    )
    return [
        beside.encode(x=alt.X("start:Q", scale=scale), y=alt.Y("middle:Q"), text="text:N"),
        inside.encode(x=alt.X("start:Q", scale=scale), y=alt.Y("lower:Q"), text="text:N"),
    ]


def strip(base: alt.Chart) -> list[alt.Chart]:
    """Above the modules: on the left where the zoom stands and the way back, on the right how many names are found."""
    where = f"isDefined(zoom.path) && length(zoom.path[0]) > 0 ? {_ZOOMED} : {_HINT}"
    # A click on this text selects the first row's place, as any mark's click does: the whole model.
    back: alt.Chart = (
        base.transform_window(place="row_number()")
        .transform_filter("datum.place === 1")
        .transform_calculate(text=where)
        .mark_text(align="left", fontSize=11, color=_MUTED, cursor="pointer")
        .encode(x=alt.value(2), y=alt.datum(-STRIP / 2), text="text:N")
    )
    found: alt.Chart = (
        base.transform_aggregate(found="sum(is_match)", modules="count()")
        .transform_calculate(
            text=f"{IS_SEARCHING} ? datum.found + ' of ' + datum.modules + ' match ‘' + trim(query) + '’' : ''"
        )
        .mark_text(align="right", fontSize=11, fontWeight=600, color=_MATCH)
        .encode(x=alt.value(alt.expr("width - 2")), y=alt.datum(-STRIP / 2), text="text:N")
    )
    return [back, found]


def colour_title(base: alt.Chart, titles: Mapping[str, str]) -> alt.Chart:
    """Beside the legend the title of the metric that is chosen, as a legend of Vega-Lite's has but one."""
    text = chosen("metric", {name: json.dumps(title) for name, title in titles.items()}, "''")
    title: alt.Chart = (
        base.transform_window(place="row_number()")
        .transform_filter("datum.place === 1")
        .transform_calculate(text=text)
        .mark_text(align="left", baseline="middle", fontSize=11.5, fontWeight=500, color=_INK)
        .encode(x=alt.value(GRADIENT_PX + _TITLE_GAP_PX), y=alt.value(-_LEGEND_PX), text="text:N")
    )
    return title


def tooltip() -> alt.ExprRef:
    """Every figure of a module, with how it came about; texts that are empty have no line."""
    parts = [f"(datum.{field} === '' ? {{}} : {{'{title}': datum.{field}}})" for field, title in HOVERED.items()]
    return alt.ExprRef(f"merge({', '.join(parts)})")
