"""The icicle of a profile: every module a rectangle, as wide as its share of the model's latency."""

import json
from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from profiles.charts.colour_metrics import ICICLE_METRICS, ColourMetric, chosen, colour_limits, legend_title, reading
from profiles.charts.icicle_gaps import gap_labels, gap_rectangles
from profiles.charts.icicle_labels import (
    GRADIENT_PX,
    HOVERED,
    IS_PALE,
    IS_SEARCHING,
    LEFT,
    STRIP,
    colour_title,
    excess_labels,
    name_labels,
    strip,
    tooltip,
    width_px,
)
from profiles.charts.icicle_rows import PLACE_COLUMNS, icicle_frame
from profiles.charts.theme import RAMP, themed
from profiles.errors import UnknownNameError
from profiles.profilers.protocol import Figure

__all__ = ["ICICLE_METRICS", "icicle_chart", "icicle_frame"]

# The name of the view of rectangles; a browser finds them by the class `modules_marks`.
MODULES = "modules"
_ROW_HEIGHT = 36
# Narrower rectangles would be all edge.
_LEAST_EDGE_PX = 5
_UNKNOWN, _MATCH, _EDGE = "#ECEFF1", "#D55E00", "#263238"
_FORMS = {"_ms": (".3~g", " ms"), "_share": (".2~%", ""), "_bytes": (".3~s", "B")}
_EXCESS_FILL, _EXCESS_EDGE = "#FDEEE6", "#D55E00"
_SEARCHED = "datum.label + ' ' + datum.path + ' ' + datum.class_name"
_DASH = "datum.provenance === 'estimated' ? [4, 3] : []"
_IS_MARKED = "datum.provenance === 'aggregated' || datum.provenance === 'estimated'"


def icicle_chart(
    frame: pl.DataFrame,
    *,
    metric: str = "latency_ms",
    width: int = 900,
    title: str = "",
    figures: Sequence[Figure] = (),
) -> alt.LayerChart:
    """An icicle of `icicle_frame` with a choice of the metric that colours it, `metric` to begin with, and a search.

    A click zooms into a module; a double click, a click beside the modules or on the line above them goes back. The
    names found are counted, and the others pale. Aggregated modules have a dark edge and a Σ before their name,
    estimated ones a dashed edge and ≈; skipped ones have no time and are a × where they would be. What a module's
    children come to beyond it is drawn beside it, dashed, with how much it is; what they come to less is a grey
    rectangle beside them. `figures` of further profilers, which the frame was made with, are metrics too.

    Raises:
        UnknownNameError: a metric that is none of `ICICLE_METRICS` and of `figures`.
    """
    metrics = {**ICICLE_METRICS, **{figure.name: _figure_metric(figure) for figure in figures}}
    if metric not in metrics:
        raise UnknownNameError("icicle metric", metric, metrics)
    offered = {name: part for name, part in metrics.items() if name == metric or _is_known(frame, name)}
    ends = [float(x1) for x1 in frame["x1"]]
    right = f"(isDefined(zoom.x1) ? zoom.x1[0] : {max(ends, default=1.0) or 1.0})"
    scale = alt.Scale(domain=alt.ExprRef(f"[{LEFT}, {right}]"), nice=False, zero=False)
    base = alt.Chart(frame.select(_shown_columns(frame, offered))).transform_calculate(
        value="datum[metric]",
        is_match=f"{IS_SEARCHING} && indexof(lower({_SEARCHED}), lower(trim(query))) >= 0",
    )
    drawn = base.transform_filter("datum.end > datum.x0")
    beyond, short = base.transform_filter("isValid(datum.excess)"), base.transform_filter("isValid(datum.gap)")
    levels = len(set(frame["depth"]))
    layers = [
        _rectangles(drawn, scale, right, levels, _colour(frame, offered)),
        gap_rectangles(short, scale),
        gap_labels(short, scale, right),
        _excesses(beyond, scale, right),
        _skipped(base, scale),
        *name_labels(drawn, scale, right, offered.values()),
        *excess_labels(beyond, scale, right),
        *strip(base),
        colour_title(base, {name: legend_title(part, _known(frame, name)) for name, part in offered.items()}),
    ]
    chart = alt.LayerChart(layer=layers, width=width, height=_ROW_HEIGHT * (levels + STRIP), title=title)
    return themed(chart.add_params(*_inputs(offered, metric)))


def _shown_columns(frame: pl.DataFrame, offered: Mapping[str, ColourMetric]) -> list[str]:
    """The page carries no other columns."""
    wanted = {*PLACE_COLUMNS, *HOVERED, *offered, "label", "reason"}
    return [column for column in frame.columns if column in wanted]


def _figure_metric(figure: Figure) -> ColourMetric:
    """Names carry their units."""
    number, unit = next((form for ending, form in _FORMS.items() if figure.name.endswith(ending)), (".3~s", ""))
    is_ratio = figure.name.endswith("_share")
    return ColourMetric(name=figure.name, title=figure.title, number=number, unit=unit, is_ratio=is_ratio)


def _is_known(frame: pl.DataFrame, column: str) -> bool:
    return column in frame.columns and frame[column].null_count() < len(frame)


def _inputs(offered: Mapping[str, ColourMetric], metric: str) -> tuple[alt.Parameter, alt.Parameter]:
    options, titles = list(offered), [part.title for part in offered.values()]
    choice = alt.binding_select(options=options, labels=titles, name="Colour ")
    search = alt.binding(input="search", placeholder="name or class", name="Find ", debounce=150)
    return alt.param("metric", value=metric, bind=choice), alt.param("query", value="", bind=search)


def _rectangles(base: alt.Chart, scale: alt.Scale, right: str, levels: int, colour: alt.Color) -> alt.Chart:
    zoom = alt.selection_point(name="zoom", fields=["x0", "x1", "path"], on="click", clear="dblclick")
    edge = alt.when("datum.is_match").then(alt.value(_MATCH)).when(_IS_MARKED).then(alt.value(_EDGE))
    rows = alt.Scale(domain=[-STRIP, levels], reverse=True, nice=False, zero=False)
    shares = alt.Axis(format="~%", title="share of the model's latency", tickCount=6, grid=False)
    rectangles: alt.Chart = (
        base.mark_rect(clip=True, cursor="pointer", invalid="show", strokeDash=alt.ExprRef(_DASH), tooltip=tooltip())
        .encode(
            x=alt.X("x0:Q", scale=scale, axis=shares),
            x2="end:Q",
            y=alt.Y("depth:Q", scale=rows, axis=None),
            y2="depth_end:Q",
            color=alt.when("!isValid(datum.value)").then(alt.value(_UNKNOWN)).otherwise(colour),
            stroke=edge.otherwise(alt.value("white")),
            strokeWidth=alt.when("datum.is_match")
            .then(alt.value(2.5))
            .when(f"{width_px(right)} < {_LEAST_EDGE_PX}")
            .then(alt.value(0.15))
            .otherwise(alt.value(1.2)),
            opacity=alt.when(IS_PALE).then(alt.value(0.3)).otherwise(alt.value(1)),
        )
        .properties(name=MODULES)
        .add_params(zoom)
    )
    return rectangles


def _colour(frame: pl.DataFrame, offered: Mapping[str, ColourMetric]) -> alt.Color:
    """The scale of the metric that is chosen, whose title is a text; a square root tells small values apart."""
    limits = {name: json.dumps(colour_limits(metric, _known(frame, name))) for name, metric in offered.items()}
    legend = alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        gradientLength=GRADIENT_PX,
        gradientThickness=12,
        tickCount=4,
        labelOverlap="greedy",
        labelSeparation=12,
        labelExpr=reading(offered.values(), "metric", "datum.value"),
    )
    domain = alt.ExprRef(chosen("metric", limits, "[0, 1]"))
    scale = alt.Scale(type="sqrt", range=list(RAMP), zero=False, domain=domain, clamp=True, nice=False)
    return alt.Color("value:Q", legend=legend, scale=scale)


def _known(frame: pl.DataFrame, column: str) -> list[float]:
    return [float(value) for value in frame[column].drop_nulls()] if column in frame.columns else []


def _excesses(base: alt.Chart, scale: alt.Scale, right: str) -> alt.Chart:
    """Beside a module what its children come to beyond it."""
    excesses: alt.Chart = base.mark_rect(
        clip=True, fill=_EXCESS_FILL, stroke=_EXCESS_EDGE, strokeDash=[3, 3], cursor="pointer", tooltip=tooltip()
    ).encode(
        x=alt.X("end:Q", scale=scale),
        x2="x1:Q",
        y=alt.Y("depth:Q"),
        y2="depth_end:Q",
        strokeWidth=alt.when(f"{width_px(right, 'end', 'x1')} < {_LEAST_EDGE_PX}")
        .then(alt.value(0))
        .otherwise(alt.value(1)),
    )
    return excesses


def _skipped(base: alt.Chart, scale: alt.Scale) -> alt.Chart:
    """Modules without a time, side by side where they would be."""
    skipped: alt.Chart = (
        base.transform_filter("datum.provenance === 'skipped' && datum.end <= datum.x0")
        .transform_calculate(lower="datum.depth + 0.8")
        .mark_text(
            clip=True, text="×", fontSize=13, fontWeight=700, xOffset=alt.ExprRef("datum.skipped_px"), tooltip=tooltip()
        )
        .encode(
            x=alt.X("x0:Q", scale=scale),
            y=alt.Y("lower:Q"),
            color=alt.when("datum.is_match").then(alt.value(_MATCH)).otherwise(alt.value(_EDGE)),
        )
    )
    return skipped
