"""Charts of a validation: where the cost model's errors lie, each beside the noise floor of the measurements."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from planner.cost_model.component_errors import REST
from planner.report.blocks import Chart, Rows
from planner.report.cells import format_percent
from planner.report.frames import frame_of
from planner.report.inputs import ValidationInputs
from planner.report.kind_colours import kind_colour
from planner.report.restyle import grade_marks
from planner.report.specs import scatter_spec

__all__ = ["batch_chart", "carried_rows", "curve_rows", "floor_of", "in_situ_rows", "more_charts", "scatter_chart"]

_GOAL = 0.10
_LINE = "#333"
_FLOOR = "#777"
_PERCENT = alt.Axis(format="~%")
_BAR_HEIGHT = 28


def floor_of(summary: Mapping[str, Any]) -> float | None:
    """The noise floor that mean errors are held against: its mean, or its median where only that is known."""
    floor = summary.get("noise_floor") or {}
    value = floor.get("mean", floor.get("median"))
    return None if value is None else float(value)


def scatter_chart(validation: ValidationInputs) -> Chart:
    """Predicted over measured latency, both logarithmic; needs a point."""
    rows = tuple({**point, "provenance": "predicted"} for point in _points(validation))
    floor = (validation.summary.get("noise_floor") or {}).get("p90")
    band = "" if floor is None else f", the dark band the noise floor (nine in ten within ±{format_percent(floor)})"
    return Chart(
        name="predicted_against_measured",
        title="Latency of held-out components",
        summary=f"{len(rows)} components, predicted over measured latency, with the identity line and a ±10 % band.",
        spec=grade_marks(scatter_spec(rows, _kinds(validation), floor)),
        rows=rows,
        note=f"The grey band is ±10 %{band}.",
    )


def batch_chart(validation: ValidationInputs) -> Chart | None:
    """Mean error over the batch, by kind; None where the validation says nothing of batches."""
    rows = tuple(dict(row) for row in validation.summary.get("by_batch", ()) if row.get("mape") is not None)
    if not rows:
        return None
    spec = _over(
        rows,
        alt.X(
            "batch:Q",
            title="batch (rounded to a power of two)",
            scale=alt.Scale(type="log", base=2, nice=False),
            axis=alt.Axis(format="~g", values=sorted({row["batch"] for row in rows})),
        ),
        ("kind", "batch", "rows", "mape", "p90", "bias"),
        _kinds(validation),
        floor_of(validation.summary),
        goal=None,
    )
    return Chart(
        name="error_by_batch",
        title="Mean error by batch",
        summary="A line for each kind of component and for whole models, with the noise floor as a dashed line.",
        spec=spec,
        rows=rows,
        note=_floor_note(validation),
    )


def more_charts(validation: ValidationInputs) -> tuple[Chart, ...]:
    """Who carries the error, the learning curve, and errors in running models, as far as they are known."""
    found = (_carried_chart(validation), _curve_chart(validation), _in_situ_chart(validation))
    return tuple(chart for chart in found if chart is not None)


def carried_rows(summary: Mapping[str, Any]) -> Rows:
    """The kinds that carry an error of whole models, the greatest first."""
    return tuple(dict(row) for row in summary.get("by_share", ()) if row.get("carried") is not None)


def curve_rows(points: Rows) -> Rows:
    """`kind, family, points, mape`: the median over the orders in which points came."""
    grouped: dict[tuple[str, str, int], list[float]] = {}
    for point in points:
        grouped.setdefault((point["kind"], point["family"], point["points"]), []).append(point["mape"])
    return tuple(
        {"kind": kind, "family": family, "points": count, "mape": median(errors)}
        for (kind, family, count), errors in sorted(grouped.items())
    )


def in_situ_rows(parts: Rows) -> Rows:
    """`model, kind, part, measured_ms, predicted_ms`: a running model's signed errors by kind, over its latency."""
    sums: dict[tuple[str, str], dict[str, Any]] = {}
    for row in parts:
        title = f"{row['representation']} ({row['model']})"
        own = sums.setdefault(
            (title, row["kind"]),
            {"model": title, "kind": row["kind"], "part": 0.0, "measured_ms": 0.0, "predicted_ms": 0.0},
        )
        for name in ("part", "measured_ms", "predicted_ms"):
            own[name] += row[name]
    return tuple(sums.values())


def _carried_chart(validation: ValidationInputs) -> Chart | None:
    rows = carried_rows(validation.summary)
    if not rows:
        return None
    kinds = [row["kind"] for row in rows]
    bars = (
        alt.Chart(frame_of(rows))
        .mark_bar(height={"band": 0.62})
        .encode(
            x=alt.X("carried:Q", title="share of the latency × held-out error", axis=_PERCENT),
            y=alt.Y("kind:N", title=None, sort=kinds),
            tooltip=_tooltips("kind", "share", "mape", "carried"),
        )
    )
    return Chart(
        name="error_by_share",
        title="Which components carry the error of whole models",
        summary="A bar per kind: its share of whole models' latency times its error.",
        spec=_with_rules(bars, "x", floor_of(validation.summary), None, height=_BAR_HEIGHT * max(2, len(kinds))),
        rows=rows,
        note=f"What a model would be off by, were all other kinds exact. {_floor_note(validation)}",
    )


def _curve_chart(validation: ValidationInputs) -> Chart | None:
    rows = curve_rows(validation.learning_curve)
    if not rows:
        return None
    spec = _over(
        rows,
        alt.X("points:Q", title="measured points", scale=alt.Scale(type="log", nice=False), axis=_ticks(rows)),
        ("kind", "family", "points", "mape"),
        _kinds(validation),
        floor_of(validation.summary),
        goal=_GOAL,
        detail="family",
    )
    return Chart(
        name="learning_curve",
        title="Error on held-out components after so many measured points",
        summary="A falling line for each family of components, with the goal and the noise floor as rules.",
        spec=spec,
        rows=rows,
        note=f"The full line is the goal of {format_percent(_GOAL)}. {_floor_note(validation)}",
    )


def _in_situ_chart(validation: ValidationInputs) -> Chart | None:
    rows = in_situ_rows(validation.in_situ)
    if not rows:
        return None
    models = list(dict.fromkeys(row["model"] for row in rows))
    kinds = sorted({row["kind"] for row in rows}, key=lambda kind: (kind == REST, kind))
    totals = tuple(
        {
            "model": model,
            "total": sum(row["part"] for row in rows if row["model"] == model),
            "gross": sum(abs(row["part"]) for row in rows if row["model"] == model),
        }
        for model in models
    )
    y = alt.Y("model:N", title=None, sort=models, axis=alt.Axis(labelLimit=280))
    bars = (
        alt.Chart(frame_of(rows))
        .mark_bar(height={"band": 0.62}, stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("part:Q", title="predicted less measured, of the model's latency", stack="zero", axis=_PERCENT),
            y=y,
            color=kind_colour(_kinds(validation), kinds),
            tooltip=_tooltips("model", "kind", "part", "measured_ms", "predicted_ms"),
        )
    )
    ticks = (
        alt.Chart(frame_of(totals))
        .mark_tick(color="black", thickness=3, height={"band": 0.9})
        .encode(x="total:Q", y=y, tooltip=_tooltips("model", "total", "gross"))
    )
    zero = alt.Chart(frame_of(({"zero": 0.0},))).mark_rule(color=_LINE, strokeWidth=1).encode(x="zero:Q")
    return Chart(
        name="error_in_situ",
        title="Errors of components inside running models",
        summary="A bar per model, split by kind: to the right what is predicted too slow, to the left too fast.",
        spec={**alt.layer(bars, zero, ticks).to_dict(), "width": "container", "height": 34 * max(2, len(models))},
        rows=rows,
        note="The black mark is the error of the total: short beside long bars where errors cancel. (rest) is what a "
        "model takes outside all components (calls of the modules around them, which the cost model learns from whole "
        "models), less what watching these adds to them.",
    )


def _over(
    rows: Rows,
    across: alt.X,
    shown: Sequence[str],
    kinds: Sequence[str],
    floor: float | None,
    *,
    goal: float | None,
    detail: str = "kind",
) -> dict[str, Any]:
    """Lines of `mape` by kind."""
    base = alt.Chart(frame_of(rows)).encode(
        x=across,
        y=alt.Y("mape:Q", title="mean error", axis=_PERCENT, scale=alt.Scale(zero=True)),
        color=kind_colour(kinds, _sorted_kinds(rows)),
        detail=f"{detail}:N",
    )
    marks = base.mark_point(filled=True, size=36).encode(
        shape=alt.Shape("kind:N", legend=None), tooltip=_tooltips(*shown)
    )
    return _with_rules(base.mark_line(strokeWidth=1.5) + marks, "y", floor, goal, height=260)


def _with_rules(
    chart: alt.Chart | alt.LayerChart, channel: str, floor: float | None, goal: float | None, *, height: int
) -> dict[str, Any]:
    """The chart over a dashed rule at the noise floor and a full one at the goal."""
    rules = [
        alt.Chart(frame_of(({"at": value, "what": what},)))
        .mark_rule(color=colour, strokeWidth=1.5, strokeDash=dash)
        .encode(alt.X("at:Q") if channel == "x" else alt.Y("at:Q"), tooltip=_tooltips("what", "at"))
        for value, what, colour, dash in (
            (floor, "noise floor", _FLOOR, [5, 4]),
            (goal, "goal", _LINE, [1, 0]),
        )
        if value is not None
    ]
    return {**alt.layer(*rules, chart).to_dict(), "width": "container", "height": height}


def _ticks(rows: Rows) -> alt.Axis:
    return alt.Axis(values=sorted({row["points"] for row in rows}), format="~g", labelOverlap=True)


def _tooltips(*names: str) -> list[alt.Tooltip]:
    texts = {"kind", "family", "model", "what"}
    counts = {"batch", "rows", "points"}
    return [
        alt.Tooltip(
            f"{name}:{'N' if name in texts else 'Q'}",
            title=name.replace("_", " "),
            format="" if name in texts else "~g" if name in counts else ".3s" if name.endswith("_ms") else ".1%",
        )
        for name in names
    ]


def _floor_note(validation: ValidationInputs) -> str:
    floor = floor_of(validation.summary)
    return "" if floor is None else f"Dashed: the noise floor, {format_percent(floor)}."


def _kinds(validation: ValidationInputs) -> tuple[str, ...]:
    """Every kind of any chart of the page."""
    rows = (
        *validation.points,
        *validation.summary.get("by_batch", ()),
        *validation.learning_curve,
        *validation.in_situ,
    )
    return _sorted_kinds(rows)


def _sorted_kinds(rows: Rows) -> tuple[str, ...]:
    return tuple(sorted({row["kind"] for row in rows}))


def _points(validation: ValidationInputs) -> Rows:
    return tuple(row for row in validation.points if row["measured_ms"] and row["predicted_ms"])
