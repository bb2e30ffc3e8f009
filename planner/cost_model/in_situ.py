"""Whole models measured part by part: the error of each component inside a running model, beside that of the total."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.cost_model.component_errors import ComponentErrors

if TYPE_CHECKING:
    import polars as pl

__all__ = ["InSituErrors", "in_situ_frame"]


@dataclass(frozen=True, kw_only=True, slots=True)
class InSituErrors:
    """One model's errors, with its name and the representation of its features."""

    model: str
    representation: str
    errors: ComponentErrors

    def to_object(self) -> dict[str, Any]:
        """JSON-ready: the total, what cancels in it, and the sums of each kind, the largest error first."""
        errors = self.errors
        return {
            "model": self.model,
            "representation": self.representation,
            "batch": errors.batch,
            "measured_ms": errors.measured_ms,
            "predicted_ms": errors.predicted_ms,
            "error": errors.error,
            "gross_error": errors.gross_error,
            "cancelled": errors.cancelled,
            "kinds": [
                {"kind": row.kind, "measured_ms": row.measured_ms, "predicted_ms": row.predicted_ms}
                for row in errors.by_kind()
            ],
        }


def in_situ_frame(found: Sequence[InSituErrors]) -> "pl.DataFrame":
    """One row per component of each model: `model, representation, batch, path, kind, measured_ms, predicted_ms, part`.

    `part` is the component's signed error over the model's measured latency; the parts of a model sum to its error.
    """
    import polars as pl

    schema = {
        "model": pl.String,
        "representation": pl.String,
        "batch": pl.Int64,
        "path": pl.String,
        "kind": pl.String,
        "measured_ms": pl.Float64,
        "predicted_ms": pl.Float64,
        "part": pl.Float64,
    }
    rows = [
        {
            "model": one.model,
            "representation": one.representation,
            "batch": one.errors.batch,
            "path": row.path,
            "kind": row.kind,
            "measured_ms": row.measured_ms,
            "predicted_ms": row.predicted_ms,
            "part": row.difference_ms / one.errors.measured_ms,
        }
        for one in found
        for row in one.errors.rows
    ]
    return pl.DataFrame(rows, schema=schema)
