"""Errors where the model must go beyond its rows: work four times the largest, and id skews it has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Floats
from planner.cost_model.family import fit_family, small_and_large
from planner.cost_model.features import WorkFormula, drivers_of, places_by_family
from planner.cost_model.fitter import Fitter
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.roofline import PhysicalLimits
from planner.cost_model.training_rows import TrainingRows, limits_of
from profiles.component import Component

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Beyond", "beyond_frame", "extrapolation", "skewed_ids", "summary_of"]

# A family with fewer rows on either side says nothing.
_FEWEST_KNOWN = 16
_FEWEST_ASKED = 4
_FEWEST_SKEWS = 3
_UNIFORM = 0.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Beyond:
    """Rows of one family that a fit on others of its rows predicts; arrays of shape [N].

    `left_out` says what the fit had not seen.
    """

    family: str
    kind: str
    left_out: str
    components: tuple[Component, ...]
    measured_ms: Floats
    predicted_ms: Floats
    low_ms: Floats
    high_ms: Floats
    flagged: NDArray[np.bool_]


def extrapolation(model: FittedDeviceModel, *, seed: int, fitter: Fitter | None = None) -> tuple[Beyond, ...]:
    """Fitted on rows of up to a quarter of the family's largest work, asked for those beyond."""
    splits = []
    for name, rows in _families(model):
        small, large = small_and_large(drivers_of(rows.components, model.work))
        splits.append(_Split(name, rows, small, large, "over a quarter of the largest work"))
    return _asked(model, splits, seed, fitter)


def skewed_ids(model: FittedDeviceModel, *, seed: int, fitter: Fitter | None = None) -> tuple[Beyond, ...]:
    """Each exponent of the ids' skew but the uniform one in turn, by a fit on the rows of all others.

    Families without a `zipf`, or with fewer than three exponents, are left out.
    """
    splits = []
    for name, rows in _families(model):
        shapes = [dict(component.shape) for component in rows.components]
        exponents = np.array([shape.get("zipf", _UNIFORM) for shape in shapes], dtype=np.float64)
        distinct = np.unique(exponents)
        if len(distinct) < _FEWEST_SKEWS:
            continue
        for exponent in distinct[distinct != _UNIFORM].tolist():
            is_asked = exponents == exponent
            known, asked = np.flatnonzero(~is_asked), np.flatnonzero(is_asked)
            splits.append(_Split(name, rows, known, asked, f"zipf {exponent:g}"))
    return _asked(model, splits, seed, fitter)


def summary_of(parts: tuple[Beyond, ...]) -> dict[str, float | int | None]:
    """`rows, mape, flagged_share, coverage` over all rows, as fractions; nulls without any."""
    if not parts:
        return {"rows": 0, "mape": None, "flagged_share": None, "coverage": None}
    measured, predicted, low, high = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("measured_ms", "predicted_ms", "low_ms", "high_ms")
    )
    return {
        "rows": len(measured),
        "mape": float(np.mean(np.abs(predicted / measured - 1))),
        "flagged_share": float(np.mean(np.concatenate([part.flagged for part in parts]))),
        "coverage": float(np.mean((low <= measured) & (measured <= high))),
    }


def beyond_frame(parts: tuple[Beyond, ...]) -> "pl.DataFrame":
    """One row per component: `family, kind, left_out, batch, measured_ms, predicted_ms, low_ms, high_ms, flagged`."""
    import polars as pl

    schema = {"family": pl.String, "kind": pl.String, "left_out": pl.String, "batch": pl.Int64}
    figures = ("measured_ms", "predicted_ms", "low_ms", "high_ms")
    rows = [
        {
            "family": part.family,
            "kind": part.kind,
            "left_out": part.left_out,
            "batch": component.batch,
            **{name: float(getattr(part, name)[i]) for name in figures},
            "flagged": bool(part.flagged[i]),
        }
        for part in parts
        for i, component in enumerate(part.components)
    ]
    return pl.DataFrame(rows, schema={**schema, **dict.fromkeys(figures, pl.Float64), "flagged": pl.Boolean})


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """A family's rows: those to fit on, and those to ask for."""

    name: str
    rows: TrainingRows
    known: NDArray[np.int64]
    asked: NDArray[np.int64]
    left_out: str


def _families(model: FittedDeviceModel) -> list[tuple[str, TrainingRows]]:
    return [(name, model.rows.take(at)) for name, at in places_by_family(model.rows.components).items()]


def _asked(model: FittedDeviceModel, splits: Sequence[_Split], seed: int, fitter: Fitter | None) -> tuple[Beyond, ...]:
    enough = [one for one in splits if len(one.known) >= _FEWEST_KNOWN and len(one.asked) >= _FEWEST_ASKED]
    limits = limits_of(model.rows.fingerprint)
    return tuple((fitter or Fitter()).each(_beyond, [(one, model.work, limits, seed) for one in enough]))


def _beyond(split: _Split, work: WorkFormula, limits: PhysicalLimits, seed: int) -> Beyond:
    known, asked = split.rows.take(split.known.tolist()), split.rows.take(split.asked.tolist())
    family = fit_family(split.name, known.components, known.label_ms, work, limits, seed=seed, doubt_N=known.doubt)
    estimate = family.predict(asked.components, work)
    return Beyond(
        family=split.name,
        kind=family.kind,
        left_out=split.left_out,
        components=asked.components,
        measured_ms=asked.label_ms,
        predicted_ms=estimate.mean_ms,
        low_ms=estimate.low_ms,
        high_ms=estimate.high_ms,
        flagged=estimate.extrapolated,
    )
