"""Predicted against measured: what the cost model is worth."""

from collections.abc import Mapping
from typing import Any

from planner.cost_model.training_rows import WHOLE_MODEL
from planner.report.blocks import Chart, Column, Row, Rows, Section, Table
from planner.report.cells import format_percent
from planner.report.inputs import ValidationInputs
from planner.report.validation_charts import batch_chart, more_charts, scatter_chart

__all__ = ["error_rows", "in_situ_table", "model_batch_table", "validation_section"]

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
    Column(key="kendall_tau", title="Tau", kind="number", note="Kendall's, of the order of models at equal batch"),
    Column(key="rows", title="Points", kind="integer"),
)
_BATCH_COLUMNS = (
    Column(key="batch", title="Batch", kind="integer"),
    *_COLUMNS[1:-1],
    Column(key="coverage", title="Intervals hold", kind="percent", note="share within their 90 % intervals"),
    _COLUMNS[-1],
)
_IN_SITU_COLUMNS = (
    Column(key="representation", title="Representation"),
    Column(key="model", title="Model"),
    Column(key="batch", title="Batch", kind="integer"),
    Column(key="measured_ms", title="Measured", kind="ms"),
    Column(key="predicted_ms", title="Predicted", kind="ms"),
    Column(key="error", title="Error", kind="percent", note="of the total, below 0 where predicted too fast"),
    Column(key="gross_error", title="Gross error", kind="percent", note="what the error would be, did none cancel"),
    Column(key="cancelled", title="Cancelled", kind="percent"),
    Column(key="worst", title="Most of it"),
)

_WHOLE_MODELS = (
    ("composed", "whole models"),
    ("composed_sum", "whole models, as plain sums"),
    ("composed_known", "whole models, components measured"),
)


def validation_section(validation: ValidationInputs | None, *, fold: bool = True) -> Section:
    """The scatter, errors by batch, and the errors per kind beside the noise floor; the other charts folded."""
    if validation is None:
        return Section(
            anchor="validation",
            title=_TITLE,
            short="Prediction",
            missing="The cost model was not validated in this run.",
        )
    rows = error_rows(validation.summary, validation.points)
    table = Table(name="errors", caption="Error of the cost model on components held out", columns=_COLUMNS, rows=rows)
    more = more_charts(validation)
    in_situ = in_situ_table(validation.summary)
    by_batch = model_batch_table(validation.summary)
    return Section(
        anchor="validation",
        title=_TITLE,
        short="Prediction",
        prose=_prose(validation.summary),
        charts=(*_first_charts(validation), *(() if fold else more)),
        tables=(table, *(one for one in (by_batch, in_situ) if one)),
        notes=tuple(validation.summary.get("notes", ())),
        folded=more if fold else (),
        folded_title="More on where the errors lie",
    )


def error_rows(summary: Mapping[str, Any], points: Rows = ()) -> Rows:
    """The noise floor first, then each kind, then whole models."""
    counts: dict[str, int] = {}
    for point in points:
        counts[point["kind"]] = counts.get(point["kind"], 0) + 1
    rows: list[Row] = []
    if floor := summary.get("noise_floor"):
        rows.append({**floor, "kind": "noise floor", "mape": floor.get("mean")})
    rows += [{"rows": counts.get(row["kind"]), **row} for row in summary.get("components", ())]
    for key, kind in _WHOLE_MODELS:
        composed = summary.get(key) or {}
        if composed.get("mape") is not None:
            rows.append({"rows": counts.get("model"), **composed, "kind": kind})
    return tuple(rows)


def model_batch_table(summary: Mapping[str, Any]) -> Table | None:
    """The errors of whole models at each batch, with the agreement of their order; None where none was measured."""
    rows = tuple(row for row in summary.get("by_batch", ()) if row["kind"] == WHOLE_MODEL)
    if not rows:
        return None
    return Table(name="models_by_batch", caption="Whole models by batch", columns=_BATCH_COLUMNS, rows=rows)


def in_situ_table(summary: Mapping[str, Any]) -> Table | None:
    """The models that were measured part by part, with what cancels in their totals; None where none was."""
    rows = tuple({**row, "worst": _worst(row)} for row in summary.get("in_situ", ()))
    if not rows:
        return None
    return Table(
        name="in_situ",
        caption="Running models, part by part",
        columns=_IN_SITU_COLUMNS,
        rows=tuple({key: value for key, value in row.items() if key != "kinds"} for row in rows),
    )


def _first_charts(validation: ValidationInputs) -> tuple[Chart, ...]:
    scatter = (scatter_chart(validation),) if any(row["measured_ms"] for row in validation.points) else ()
    by_batch = batch_chart(validation)
    return (*scatter, *((by_batch,) if by_batch else ()))


def _worst(row: Mapping[str, Any]) -> str:
    """The kind of the largest error, which stands first."""
    if not row.get("kinds"):
        return ""
    kind = row["kinds"][0]
    difference = (kind["predicted_ms"] - kind["measured_ms"]) / row["measured_ms"]
    return f"{kind['kind']} {difference:+.1%}"


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
