"""A validation of the cost model as tables on a terminal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planner.cli.output import print_lines, print_table
from planner.cost_model.training_rows import WHOLE_MODEL

if TYPE_CHECKING:
    from planner.cost_model.in_situ import InSituErrors
    from planner.cost_model.validation import ValidationReport

__all__ = ["show_validation"]

_ERRORS = ("mape", "median", "p90", "within_10", "bias")
_TITLES = ("MAPE", "median", "p90", "within\n10 %", "bias")
_WHOLE_MODELS = (
    ("composed", "whole models"),
    ("composed_sum", "as plain sums"),
    ("composed_known", "components measured"),
)


def show_validation(report: "ValidationReport") -> None:
    """Errors by kind and of whole models by batch, the noise floor beside them, and errors inside running models."""
    body = report.to_object()
    rows = [_cells(one["kind"], one) for one in body["components"]]
    rows += [_cells(name, body[key]) for key, name in _WHOLE_MODELS if body[key]["mape"] is not None]
    print_table("Held-out error of the cost model", ("kind", "points", *_TITLES, "tau"), rows)
    floor = report.noise_floor
    print_lines([f"noise floor: median {100 * floor.median:.1f} %, p90 {100 * floor.p90:.1f} % ({floor.source})"])
    if report.interval_coverage_90 is not None:
        print_lines([f"90 % intervals cover {100 * report.interval_coverage_90:.1f} % of the components held out"])
    if report.whole_model_coverage_90 is not None:
        print_lines([f"90 % intervals cover {100 * report.whole_model_coverage_90:.1f} % of the whole models"])
    if models := [one for one in body["by_batch"] if one["kind"] == WHOLE_MODEL]:
        by_batch = [(*_cells(f"{one['batch']:,}", one), _percent(one["coverage"])) for one in models]
        print_table("Whole models by batch", ("batch", "points", *_TITLES, "tau", "intervals\nhold"), by_batch)
    if report.in_situ:
        columns = ("model", "batch", "total", "by parts", "cancels", "most of it")
        rows = [_in_situ_cells(one) for one in report.in_situ]
        print_table("Errors inside running models, of their latency", columns, rows, folding={0: 8, 5: 10})
    print_lines(f"note: {note}" for note in report.notes)


def _cells(name: str, errors: Mapping[str, Any]) -> tuple[str, ...]:
    tau = errors.get("kendall_tau")
    figures = (_percent(errors[key], sign=key == "bias") for key in _ERRORS)
    return name, str(errors["rows"]), *figures, "" if tau is None else f"{tau:.2f}"


def _in_situ_cells(one: "InSituErrors") -> tuple[str, ...]:
    found, worst = one.errors, one.errors.by_kind()[0]
    most = f"{worst.kind} {worst.difference_ms / found.measured_ms:+.1%}"
    shares = (f"{found.error:+.1%}", f"{found.gross_error:.1%}", f"{found.cancelled:.1%}")
    return one.model, f"{found.batch:,}", *shares, most


def _percent(share: float, *, sign: bool = False) -> str:
    return f"{share:+.1%}" if sign else f"{share:.1%}"
