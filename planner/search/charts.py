"""The front of a search: accuracy over latency."""

from typing import Any, Literal

import altair as alt
import numpy as np
import polars as pl

from planner.search.frames import CHOICE_COLUMNS
from planner.search.pareto import non_dominated
from planner.search.records import SearchResult
from profiles.charts.theme import PALETTE, themed

__all__ = ["Metric", "front_chart", "front_frame"]

Metric = Literal["auc", "accuracy"]
_TITLES = {"auc": "validation AUC", "accuracy": "validation accuracy"}
_SHAPES = {
    "table": "square",
    "dhe": "circle",
    "select": "triangle-up",
    "hybrid": "diamond",
    "quotient-remainder": "cross",
    "mixed-dimension": "triangle-down",
    "tensor-train": "triangle-left",
    "robe": "triangle-right",
    "reduced-table": "arrow",
    "mixed": "wedge",
}
_COLOURS = {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(_SHAPES)}
_GREY = "#9a9a9a"
_AXIS = alt.Axis(format=".4~f")


def front_frame(result: SearchResult, metric: Metric = "auc") -> pl.DataFrame:
    """A row per trial with `metric`, `latency_ms`, all choices, and two flags.

    `pareto` says that no trial is better in all objectives; `on_front` that none is in these two, so that the line
    through those is a staircase. Trials that were not trained have no metric.
    """
    frame = result.frame().drop("model").sort("number")
    return frame.with_columns(on_front=pl.Series(_on_front(frame, metric), dtype=pl.Boolean))


def front_chart(frame: pl.DataFrame, metric: Metric = "auc", *, device: str = "") -> alt.LayerChart:
    """`front_frame` as points: the front joined and named, untrained trials hollow at the foot.

    Pareto members that owe their place to another objective are large, but not on the line.
    """
    title = f"predicted latency{f' on {device}' if device else ''} (ms)"
    base = alt.Chart(frame).encode(x=alt.X("latency_ms:Q", title=title, scale=alt.Scale(zero=False, nice=True)))
    trained = base.transform_filter(alt.datum.state == "complete").encode(
        y=alt.Y(f"{metric}:Q", title=_TITLES[metric], scale=alt.Scale(zero=False, nice=True), axis=_AXIS)
    )
    layers: list[Any] = [_untrained(base), _line(trained), _points(trained, frame, metric), _names(trained)]
    return themed(alt.LayerChart(layer=layers).properties(width=560, height=340, title="Candidates"))


def _on_front(frame: pl.DataFrame, metric: Metric) -> list[bool]:
    points = frame.select(-pl.col(metric), pl.col("latency_ms")).to_numpy()
    known = ~np.isnan(points.astype(float)).any(axis=1)
    on_front = np.zeros(len(points), dtype=bool)
    on_front[known] = non_dominated(points[known])
    return [bool(flag) for flag in on_front]


def _points(trained: Any, frame: pl.DataFrame, metric: Metric) -> Any:
    present = [name for name in _SHAPES if name in set(frame["representation"])]
    colours = alt.Scale(domain=present, range=[_COLOURS[name] for name in present])
    shapes = alt.Scale(domain=present, range=[_SHAPES[name] for name in present])
    return trained.mark_point(filled=True, stroke="white", strokeWidth=0.5).encode(
        color=alt.Color("representation:N", scale=colours, title="representation"),
        shape=alt.Shape("representation:N", scale=shapes, title="representation"),
        size=alt.condition("datum.pareto", alt.value(150), alt.value(60)),
        opacity=alt.condition("datum.pareto", alt.value(1.0), alt.value(0.55)),
        tooltip=_tooltip((metric, "log_loss", "train_seconds")),
    )


def _line(trained: Any) -> Any:
    return trained.transform_filter("datum.on_front").mark_line(
        interpolate="step-after", color=_GREY, strokeWidth=1.5, strokeDash=[4, 3]
    )


def _names(trained: Any) -> Any:
    text = trained.transform_filter("datum.on_front").mark_text(align="left", dx=8, dy=-7, fontSize=10)
    return text.encode(text="name:N")


def _untrained(base: Any) -> Any:
    left_out = base.transform_filter(alt.datum.state != "complete")
    return left_out.mark_point(filled=False, color=_GREY, size=50).encode(
        y=alt.value("height"), tooltip=_tooltip(("state", "reason"))
    )


def _tooltip(extra: tuple[str, ...]) -> list[str]:
    return ["number", "name", "representation", *CHOICE_COLUMNS, "latency_ms", "parameter_bytes", "flops", *extra]
