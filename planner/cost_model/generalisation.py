"""Errors where the model must go beyond its rows: work four times the largest, and id skews it has not seen."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Floats
from planner.cost_model.family import FamilyModel, fit_family, small_and_large
from planner.cost_model.features import drivers_of, family_of
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.training_rows import limits_of
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


def extrapolation(model: FittedDeviceModel, *, seed: int) -> tuple[Beyond, ...]:
    """Fitted on rows of up to a quarter of the family's largest work, asked for those beyond."""
    found = []
    for name, at in _families(model):
        components = [model.rows.components[i] for i in at.tolist()]
        small, large = small_and_large(drivers_of(components, model.work))
        found += _asked(model, name, at[small], at[large], "over a quarter of the largest work", seed)
    return tuple(found)


def skewed_ids(model: FittedDeviceModel, *, seed: int) -> tuple[Beyond, ...]:
    """Each exponent of the ids' skew but the uniform one in turn, by a fit on the rows of all others.

    Families without a `zipf`, or with fewer than three exponents, are left out.
    """
    found = []
    for name, at in _families(model):
        shapes = [dict(model.rows.components[i].shape) for i in at.tolist()]
        exponents = np.array([shape.get("zipf", _UNIFORM) for shape in shapes], dtype=np.float64)
        distinct = np.unique(exponents)
        if len(distinct) < _FEWEST_SKEWS:
            continue
        for exponent in distinct[distinct != _UNIFORM].tolist():
            is_asked = exponents == exponent
            found += _asked(model, name, at[~is_asked], at[is_asked], f"zipf {exponent:g}", seed)
    return tuple(found)


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


def _families(model: FittedDeviceModel) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Names of families, and where their rows are."""
    places: dict[str, list[int]] = {}
    for i, component in enumerate(model.rows.components):
        places.setdefault(family_of(component), []).append(i)
    for name, at in sorted(places.items()):
        yield name, np.array(at)


def _asked(
    model: FittedDeviceModel,
    name: str,
    known: NDArray[np.int64],
    asked: NDArray[np.int64],
    left_out: str,
    seed: int,
) -> list[Beyond]:
    if len(known) < _FEWEST_KNOWN or len(asked) < _FEWEST_ASKED:
        return []
    rows = model.rows
    family: FamilyModel = fit_family(
        name,
        [rows.components[i] for i in known.tolist()],
        rows.label_ms[known],
        model.work,
        limits_of(rows.fingerprint),
        seed=seed,
        doubt_N=rows.doubt[known],
    )
    wanted = tuple(rows.components[i] for i in asked.tolist())
    estimate = family.predict(wanted, model.work)
    return [
        Beyond(
            family=name,
            kind=family.kind,
            left_out=left_out,
            components=wanted,
            measured_ms=rows.label_ms[asked],
            predicted_ms=estimate.mean_ms,
            low_ms=estimate.low_ms,
            high_ms=estimate.high_ms,
            flagged=estimate.extrapolated,
        )
    ]
