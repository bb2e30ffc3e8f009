"""The trials of a search in any two of its objectives, along all of them, over time, and by what explains them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
import polars as pl

from planner.search.objective import METRICS
from planner.search.records import SearchResult, TrialRecord
from planner.study import OBJECTIVES
from profiles.charts.theme import PALETTE, themed
from profiles.units import format_count

__all__ = [
    "forecast_chart",
    "importances_chart",
    "objectives_chart",
    "objectives_frame",
    "parallel_chart",
    "parallel_frame",
    "volume_chart",
]

_TITLES = {
    "auc": "AUC",
    "capacity_qps": "capacity (queries/s)",
    "cost_per_million": "cost per million samples",
    "energy_j": "energy (J)",
    "flops": "FLOPs",
    "latency_ms": "latency (ms)",
    "latency_p50_ms": "p50 latency (ms)",
    "latency_p99_ms": "p99 latency (ms)",
    "log_loss": "log loss",
    "parameter_bytes": "parameters (bytes)",
    "peak_memory_bytes": "peak memory (bytes)",
}
_ROWS = 12
_MOST_CHOICES, _MOST_FORECASTS = 12, 40
_GREY = "#5f6670"
# From here on numbers are written with a unit of thousands.
_LONG = 10_000
_PLACE_WIDTH, _NAME_WIDTH, _NUMBER_WIDTH, _ROW_HEIGHT = 60, 220, 125, 16
_WIDTH, _HEIGHT = 720, 340


def objectives_frame(result: SearchResult) -> pl.DataFrame:
    """A row per trained trial: number, name, representation, all objectives, and whether it is on the front."""
    pareto = {trial.number for trial in result.pareto}
    rows = [
        {
            "number": trial.number,
            "name": trial.model.name,
            "representation": trial.model.representation,
            **result.values(trial),
            "pareto": trial.number in pareto,
        }
        for trial in result.feasible
    ]
    texts = dict.fromkeys(("name", "representation"), pl.String)
    numbers = dict.fromkeys(result.objectives, pl.Float64)
    return pl.DataFrame(rows, schema={"number": pl.Int64, **texts, **numbers, "pareto": pl.Boolean})


def objectives_chart(frame: pl.DataFrame, objectives: Sequence[str]) -> alt.VConcatChart:
    """Points in two objectives, a third as their colour, each to be chosen; a brush over them fills the table below."""
    names = [*objectives, *([objectives[0]] * 3)][: max(3, len(objectives))]
    axes = [_choice(label, objectives, names[place]) for place, label in enumerate(("across", "up", "colour"))]
    brush = alt.selection_interval(name="chosen")
    base = alt.Chart(frame).transform_calculate(
        **{label: f"datum[{axis.name}]" for label, axis in zip(("across", "up", "colour"), axes, strict=True)}
    )
    points: Any = base.mark_point(filled=True, stroke="white", strokeWidth=0.5).encode(
        x=alt.X("across:Q", title=" ", scale=alt.Scale(zero=False)),
        y=alt.Y("up:Q", title=" ", scale=alt.Scale(zero=False)),
        color=alt.condition(
            brush,
            alt.Color("colour:Q", title="colour", scale=alt.Scale(scheme="viridis")),
            alt.value("#cccccc"),
        ),
        size=alt.condition("datum.pareto", alt.value(160), alt.value(50)),
        tooltip=["number", "name", *objectives],
    )
    layers = alt.layer(points.add_params(brush, *axes), _title_across(objectives), _title_up(objectives))
    layers = layers.properties(width=_WIDTH, height=_HEIGHT, title="Trials in three objectives")
    return themed(alt.vconcat(layers, _table(frame, objectives, brush)))


def volume_chart(frame: pl.DataFrame) -> alt.LayerChart:
    """`volume_frame` as steps over seconds of training; a point where a trial enlarged it."""
    base = alt.Chart(frame).encode(
        x=alt.X("seconds:Q", title="seconds of training"),
        y=alt.Y("hypervolume:Q", title="hypervolume (share)", scale=alt.Scale(zero=False)),
    )
    line: Any = base.mark_line(interpolate="step-after", color=PALETTE[0])
    grown: Any = base.transform_window(
        before="lag(hypervolume)", sort=[alt.SortField("step")], frame=[None, None]
    ).transform_filter("datum.hypervolume > datum.before")
    points = grown.mark_point(filled=True, color=PALETTE[0], size=50).encode(tooltip=["number", "name", "hypervolume"])
    return themed(alt.LayerChart(layer=[line, points]).properties(width=560, height=220, title="Hypervolume"))


def forecast_chart(frame: pl.DataFrame, metric: str) -> alt.LayerChart:
    """`forecast_frame`: what was expected of each trial, with its interval, and what whole trainings reached."""
    frame = frame.sort("expected", descending=OBJECTIVES[metric]).head(_MOST_FORECASTS)
    order, title = frame["name"].to_list(), f"{_TITLES.get(metric, metric)} after a whole training"
    base: Any = alt.Chart(frame).encode(y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=200)))
    scale = alt.Scale(zero=False, nice=True)
    spans: Any = base.mark_rule(color=_GREY).encode(x=alt.X("low:Q", scale=scale, title=title), x2="high:Q")
    tooltip = ["number", "name", "state", "share", "reached", "expected", "low", "high"]
    expected: Any = base.mark_point(filled=False, color=_GREY, size=50).encode(x="expected:Q", tooltip=tooltip)
    reached: Any = base.transform_filter(alt.datum.state == "complete")
    reached = reached.mark_point(filled=True, color=PALETTE[0], size=50).encode(x="reached:Q", tooltip=tooltip)
    layers = alt.LayerChart(layer=[spans, expected, reached])
    return themed(layers.properties(width=520, title="Expected (hollow, with 95 % interval) and reached (full)"))


def importances_chart(frame: pl.DataFrame) -> alt.Chart:
    """`importances_frame` as bars, a group for each of the twelve choices that explain most."""
    total = frame.group_by("parameter", maintain_order=True).agg(pl.col("importance").sum())
    most = total.filter(pl.col("importance") > 0).top_k(_MOST_CHOICES, by="importance")["parameter"]
    frame = frame.filter(pl.col("parameter").is_in(most.implode()))
    order = list(dict.fromkeys(frame["parameter"]))
    chart: Any = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X("importance:Q", title="share of the variance explained", axis=alt.Axis(format="%")),
            y=alt.Y("parameter:N", sort=order, title=None),
            yOffset=alt.YOffset("objective:N"),
            color=alt.Color("objective:N", title=None, legend=alt.Legend(labelExpr=_title_of("datum.label", _TITLES))),
            tooltip=["parameter", "objective", alt.Tooltip("importance:Q", format=".1%")],
        )
    )
    bars: alt.Chart = themed(chart.properties(width=520, title="What explains the differences between trials"))
    return bars


def parallel_frame(result: SearchResult) -> pl.DataFrame:
    """A row per trained trial and axis: choices first, then objectives, each from 0 (worst) to 1 (best).

    A choice's values stand in the order of their size; `text` is the value as read. Trials have no place on the axis of
    a choice that plays no part in them.
    """
    trials, pareto = result.feasible, {trial.number for trial in result.pareto}
    names = list(dict.fromkeys(name for trial in trials for name in trial.choices))
    columns = {name: [trial.choices.get(name) for trial in trials] for name in names}
    varying = {name: column for name, column in columns.items() if len(set(column)) > 1}
    rows: list[dict[str, Any]] = []
    for name, column in varying.items():
        values = sorted(
            {value for value in column if value is not None}, key=lambda value: (isinstance(value, str), value)
        )
        places = {value: place / max(len(values) - 1, 1) for place, value in enumerate(values)}
        rows += [
            _mark(trial, name, places[value], str(value), pareto)
            for trial, value in zip(trials, column, strict=True)
            if value is not None
        ]
    for name in result.objectives:
        values_by_trial = [result.values(trial)[name] for trial in trials]
        low, high = min(values_by_trial, default=0.0), max(values_by_trial, default=1.0)
        for trial, value in zip(trials, values_by_trial, strict=True):
            place = (value - low) / (high - low) if high > low else 0.5
            better = place if OBJECTIVES[name] else 1 - place
            text = format_count(value) if value >= _LONG else f"{value:.4g}"
            rows.append(_mark(trial, name, better, text, pareto))
    numbers = {"number": pl.Int64, "name": pl.String, "representation": pl.String, "axis": pl.String}
    return pl.DataFrame(rows, schema={**numbers, "place": pl.Float64, "text": pl.String, "pareto": pl.Boolean})


def parallel_chart(frame: pl.DataFrame) -> alt.LayerChart:
    """`parallel_frame` as lines; those of the front stand out, and a click on the legend shows one representation.

    The least and the greatest of each axis stand at its ends.
    """
    order = list(dict.fromkeys(frame["axis"]))
    shown = alt.selection_point(name="shown", fields=["representation"], bind="legend")
    labels = alt.Axis(labelAngle=-40, labelLimit=140, labelExpr=_title_of("datum.label", _TITLES))
    base: Any = alt.Chart(frame).encode(
        x=alt.X("axis:N", sort=order, title=None, axis=labels),
        y=alt.Y(
            "place:Q",
            title="greater or better",
            scale=alt.Scale(domain=[-0.06, 1.06], nice=False),
            axis=alt.Axis(labels=False, ticks=False, grid=False, domain=False, minExtent=70),
        ),
    )
    lines: Any = (
        base.transform_calculate(weight="datum.pareto ? 0.95 : 0.25")
        .mark_line(point=True)
        .encode(
            detail="number:N",
            color=alt.Color("representation:N", title="representation", legend=alt.Legend(symbolOpacity=1)),
            opacity=alt.condition(shown, alt.Opacity("weight:Q", scale=None, legend=None), alt.value(0.03)),
            tooltip=["number", "name", "axis", "text"],
        )
        .add_params(shown)
    )
    layers = alt.LayerChart(layer=[lines, *(_ends(base, end) for end in (0, 1))])
    return themed(layers.properties(width=620, height=280, title="Choices and objectives of each trial"))


def _mark(trial: TrialRecord, axis: str, place: float, text: str, pareto: set[int]) -> dict[str, Any]:
    return {
        "number": trial.number,
        "name": trial.model.name,
        "representation": trial.model.representation,
        "axis": axis,
        "place": place,
        "text": text,
        "pareto": trial.number in pareto,
    }


def _ends(base: Any, end: int) -> Any:
    """What stands at the foot (0) or the head (1) of each axis, once where several trials do."""
    once = base.transform_filter(f"datum.place == {end}").transform_aggregate(groupby=["axis", "place", "text"])
    return once.mark_text(dy=-9 if end else 11, fontSize=9, color=_GREY, limit=90).encode(text="text:N")


def _title_across(objectives: Sequence[str]) -> Any:
    """Under the axis, what was chosen for it."""
    text = alt.ExprRef(_title_of("axis_across", {name: _TITLES.get(name, name) for name in objectives}))
    return _note().mark_text(text=text, x=_WIDTH / 2, y=_HEIGHT + 34, fontSize=11)


def _title_up(objectives: Sequence[str]) -> Any:
    """Above the axis, what was chosen for it."""
    text = alt.ExprRef(_title_of("axis_up", {name: _TITLES.get(name, name) for name in objectives}))
    return _note().mark_text(text=text, x=-50, y=-10, align="left", fontSize=11)


def _note() -> Any:
    return alt.Chart(alt.InlineData(values=[{}]))


def _title_of(value: str, titles: Mapping[str, str]) -> str:
    """A Vega expression: what the objective that `value` names is called; other names as they are."""
    return f"({json.dumps(dict(titles))})[{value}] || {value}"


def _choice(label: str, objectives: Sequence[str], first: str) -> alt.Parameter:
    return alt.param(
        name=f"axis_{label}",
        value=first,
        bind=alt.binding_select(
            options=list(objectives), labels=[_TITLES.get(name, name) for name in objectives], name=f"{label}: "
        ),
    )


def _table(frame: pl.DataFrame, objectives: Sequence[str], brush: alt.Parameter) -> alt.HConcatChart:
    """The brushed trials as text, the best by the first objective first."""
    order: Literal["ascending", "descending"] = "descending" if OBJECTIVES[objectives[0]] else "ascending"
    rows = (
        alt.Chart(frame)
        .transform_filter(brush)
        .transform_window(row="row_number()", sort=[alt.SortField(objectives[0], order=order)])
        .transform_filter(f"datum.row <= {_ROWS}")
    )
    columns = [("number", "Q", "d"), ("name", "N", ""), *((name, "Q", _format(name)) for name in objectives)]
    texts = []
    for name, kind, text_format in columns:
        text: Any = alt.Text(f"{name}:{kind}", format=text_format) if text_format else alt.Text(f"{name}:{kind}")
        width = {"number": _PLACE_WIDTH, "name": _NAME_WIDTH}.get(name, _NUMBER_WIDTH)
        column: Any = rows.mark_text(align="left", x=0, limit=width).encode(y=alt.Y("row:O", axis=None), text=text)
        title = alt.TitleParams(_TITLES.get(name, name), fontSize=11, anchor="start", limit=width)
        texts.append(column.properties(title=title, width=width, height=alt.Step(_ROW_HEIGHT)))
    return alt.hconcat(*texts, spacing=4)


def _format(name: str) -> str:
    if name in METRICS:
        return ".4f"
    return ".3s" if name.endswith("bytes") or name == "flops" else ".3~g"
