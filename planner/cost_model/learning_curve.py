"""How the held-out error falls with the number of measured points: what a sweep's budget buys.

A quarter of each family's shapes is held out; models are fitted on nested seeded subsets of the others. Between two
sizes the error is interpolated in the logarithms of both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.core_model import fit_core
from planner.cost_model.estimates import Floats
from planner.cost_model.features import CostDrivers, drivers_of, places_by_family
from planner.cost_model.fitter import Fitter
from planner.cost_model.intervals import fold_numbers
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.roofline import PhysicalLimits
from planner.cost_model.training_rows import limits_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CurvePoint", "curve_frame", "learning_curve", "points_for_error"]

_SIZES = (10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360)
_ORDERS = 3
# One fold of four is held out.
_PARTS = 4
_FEWEST_ROWS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class CurvePoint:
    """Mean absolute relative error on held-out rows after `points` measured ones, as a fraction, by order of points."""

    family: str
    kind: str
    points: int
    order: int
    mape: float


def learning_curve(
    model: FittedDeviceModel, *, seed: int, sizes: Sequence[int] = _SIZES, fitter: Fitter | None = None
) -> tuple[CurvePoint, ...]:
    """The curve of every family with 16 rows or more; sizes beyond its rows are left out, all of its rows are added."""
    limits, families = limits_of(model.rows.fingerprint), places_by_family(model.rows.components)
    fits = [
        (name, fit)
        for name, at in families.items()
        if len(at) >= _FEWEST_ROWS
        for fit in _family_fits(model, at, sizes, seed)
    ]
    tasks = [(fit.rows, fit.known, fit.asked, limits, seed) for _, fit in fits]
    errors = (fitter or Fitter()).each(_error, tasks)
    return tuple(
        CurvePoint(family=name, kind=fit.kind, points=len(fit.known), order=fit.order, mape=mape)
        for (name, fit), mape in zip(fits, errors, strict=True)
    )


def points_for_error(points: Sequence[CurvePoint], goal: float = 0.1) -> dict[str, float | None]:
    """Points per kind after which the error, the median over orders, stays within the goal; None: not reached.

    Of several families of a kind the one that needs most counts.
    """
    needed: dict[str, float | None] = {}
    for family in dict.fromkeys(point.family for point in points):
        own = [point for point in points if point.family == family]
        sizes = sorted({point.points for point in own})
        errors = [float(np.median([point.mape for point in own if point.points == size])) for size in sizes]
        count, kind = _crossing(sizes, errors, goal), own[0].kind
        before = needed.get(kind, 0.0)
        needed[kind] = None if count is None or before is None else max(before, count)
    return needed


def curve_frame(points: Sequence[CurvePoint]) -> "pl.DataFrame":
    """Columns `family, kind, points, order, mape`."""
    import polars as pl

    columns = {"family": pl.String, "kind": pl.String, "points": pl.Int64, "order": pl.Int64, "mape": pl.Float64}
    return pl.DataFrame([{name: getattr(point, name) for name in columns} for point in points], schema=columns)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows of a family; arrays of shape [N]."""

    drivers: CostDrivers
    label_ms: Floats
    doubt: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """A fit of a family on its rows at `known`, held against those at `asked`."""

    kind: str
    rows: _Rows
    order: int
    known: NDArray[np.int64]
    asked: NDArray[np.int64]


def _family_fits(model: FittedDeviceModel, at: Sequence[int], sizes: Sequence[int], seed: int) -> Iterator[_Fit]:
    own = model.rows.take(at)
    rows = _Rows(drivers_of(own.components, model.work), own.label_ms, own.doubt)
    is_held = fold_numbers(own.components, seed=seed, folds=_PARTS) == 0
    known, asked = np.flatnonzero(~is_held), np.flatnonzero(is_held)
    wanted = [*(size for size in sizes if size < len(known)), len(known)]
    for order in range(_ORDERS):
        shuffled = np.random.default_rng((seed, order)).permutation(known)
        # With all the points, every order is the same.
        for size in wanted if order == 0 else wanted[:-1]:
            yield _Fit(own.components[0].kind, rows, order, np.sort(shuffled[:size]), asked)


def _error(rows: _Rows, known: NDArray[np.int64], asked: NDArray[np.int64], limits: PhysicalLimits, seed: int) -> float:
    drivers, label_ms = rows.drivers, rows.label_ms
    core = fit_core(drivers.take(known), label_ms[known], limits, seed=seed, doubt_N=rows.doubt[known])
    return float(np.mean(np.abs(core.predict(drivers.take(asked)) / label_ms[asked] - 1)))


def _crossing(sizes: Sequence[int], errors: Sequence[float], goal: float) -> float | None:
    above = [i for i, error in enumerate(errors) if error > goal]
    if not above:
        return float(sizes[0])
    last = above[-1]
    if last == len(sizes) - 1:
        return None
    low, high = np.log(errors[last] / goal), np.log(goal / max(errors[last + 1], 1e-9))
    return float(sizes[last] * (sizes[last + 1] / sizes[last]) ** (low / (low + high)))
