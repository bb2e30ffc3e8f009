"""Predicted against measured: what the cost model is worth."""

from collections.abc import Mapping
from typing import Any

from planner.report.blocks import Chart, Column, Row, Rows, Section, Table
from planner.report.cells import format_percent
from planner.report.inputs import ValidationInputs
from planner.report.restyle import grade_marks
from planner.report.specs import scatter_spec

__all__ = ["error_rows", "validation_section"]

_TITLE = "Predicted against measured"
_READING = (
    "Each point is a component, or a whole model composed of components, that the cost model had not seen: across what "
    "was measured, up what was predicted. The grey band is ±10 %. Errors are to be read against the noise floor: how "
    "much two measurements of the same component differ."
)
_COLUMNS = (
    Column(key="kind", title="What"),
    Column(key="mape", title="Mean error", kind="percent", note="mean absolute error relative to the measurement"),
    Column(key="median", title="Median", kind="percent", note="half of the errors are below this"),
    Column(key="p90", title="90 % below", kind="percent", note="nine in ten errors are below this"),
    Column(key="within_10", title="Within ±10 %", kind="percent", note="share of predictions this close"),
    Column(key="bias", title="Bias", kind="percent", note="mean signed error, below 0 where predicted too fast"),
    Column(key="rows", title="Points", kind="integer"),
)

_WHOLE_MODELS = (
    ("composed", "whole models"),
    ("composed_sum", "whole models, as plain sums"),
    ("composed_known", "whole models, components measured"),
)


def validation_section(validation: ValidationInputs | None) -> Section:
    """The scatter, and the errors per kind beside the noise floor."""
    if validation is None:
        return Section(
            anchor="validation",
            title=_TITLE,
            short="Prediction",
            missing="The cost model was not validated in this run.",
        )
    rows = error_rows(validation.summary, validation.points)
    table = Table(name="errors", caption="Error of the cost model on components held out", columns=_COLUMNS, rows=rows)
    points = tuple(row for row in validation.points if row["measured_ms"] and row["predicted_ms"])
    charts = (_scatter(points),) if points else ()
    return Section(
        anchor="validation",
        title=_TITLE,
        short="Prediction",
        prose=_prose(validation.summary),
        charts=charts,
        tables=(table,),
        notes=tuple(validation.summary.get("notes", ())),
    )


def error_rows(summary: Mapping[str, Any], points: Rows = ()) -> Rows:
    """The noise floor first, then each kind, then whole models."""
    counts: dict[str, int] = {}
    for point in points:
        counts[point["kind"]] = counts.get(point["kind"], 0) + 1
    rows: list[Row] = []
    if floor := summary.get("noise_floor"):
        rows.append({**floor, "kind": "noise floor", "mape": None})
    rows += [{"rows": counts.get(row["kind"]), **row} for row in summary.get("components", ())]
    for key, kind in _WHOLE_MODELS:
        composed = summary.get(key) or {}
        if composed.get("mape") is not None:
            rows.append({"rows": counts.get("model"), **composed, "kind": kind})
    return tuple(rows)


def _prose(summary: Mapping[str, Any]) -> tuple[str, ...]:
    parts = []
    composed = summary.get("composed") or {}
    if composed.get("mape") is not None:
        error = format_percent(composed["mape"])
        text = f"Whole models, composed from components held out, are predicted with a mean error of {error}"
        if composed.get("kendall_tau") is not None:
            text += f"; their order is right to a Kendall tau of {composed['kendall_tau']:.2f}"
        parts.append(f"{text}.")
    if summary.get("interval_coverage_90") is not None:
        parts.append(
            f"Of the 90 % intervals, {format_percent(summary['interval_coverage_90'])} held the measured latency."
        )
    if summary.get("whole_model_coverage_90") is not None:
        parts.append(f"Of those of whole models, {format_percent(summary['whole_model_coverage_90'])} did.")
    return (_READING, " ".join(parts)) if parts else (_READING,)


def _scatter(points: Rows) -> Chart:
    rows = tuple({**point, "provenance": "predicted"} for point in points)
    return Chart(
        name="predicted_against_measured",
        title="Latency of held-out components",
        summary=f"{len(points)} components, predicted over measured latency, with the identity line and a ±10 % band.",
        spec=grade_marks(scatter_spec(rows)),
        rows=rows,
    )
