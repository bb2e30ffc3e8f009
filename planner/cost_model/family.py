"""The model of one family of components: its fit, and what held-out rows say of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.core_model import FEWEST_FOR_RESIDUAL, CoreModel, fit_core
from planner.cost_model.estimates import Floats
from planner.cost_model.features import CostDrivers, WorkFormula, drivers_of
from planner.cost_model.intervals import (
    FOLDS,
    Folds,
    Widths,
    cross_half_widths,
    deal_folds,
    fit_widths,
    widening_per_doubling,
)
from planner.cost_model.residual import stacking_weights
from planner.cost_model.roofline import PhysicalLimits
from profiles.component import Component

__all__ = [
    "FEWEST_FOR_RESIDUAL",
    "FamilyEstimate",
    "FamilyModel",
    "HeldOut",
    "fit_family",
    "small_and_large",
]

# A row is held out only from so many others: fewer tell nothing of the model.
_FEWEST_TO_LEARN_FROM = 3
# A prediction counts as extrapolated from so many doublings beyond the measured range: more than rounding.
_TOLERANCE = 1e-6
# Weights of the residual's parts are learned from so many held-out rows.
_FEWEST_FOR_WEIGHTS = 16
# Rows beyond a quarter of the largest work stand for what lies four times beyond the measured range.
_DOUBLINGS_BEYOND = 2.0
_LEAST_BEYOND = 0.1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FamilyEstimate:
    """Predictions for N components, 90 % intervals, and which of them lie outside the measured range."""

    mean_ms: Floats
    low_ms: Floats
    high_ms: Floats
    extrapolated: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeldOut:
    """Training rows as predicted by models that never saw their shape; arrays of shape [N].

    Rows of a family too small to predict them from are missing here.
    """

    components: tuple[Component, ...]
    measured_ms: Floats
    predicted_ms: Floats
    half_widths: Floats


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FamilyModel:
    """A fitted family. `widths` are the 90 % interval's, in logs, inside the measured range.

    `fold_cores` are the fits without a fold each; a fold whose others are too few has none.
    """

    name: str
    kind: str
    core: CoreModel
    widths: Widths
    widening_per_doubling: float
    held_out: HeldOut
    folds: Folds
    fold_cores: Mapping[int, CoreModel]

    def predict(
        self, components: Sequence[Component], work: WorkFormula, *, core: CoreModel | None = None
    ) -> FamilyEstimate:
        """Latencies, by the fit on all rows or another."""
        return self.predict_drivers(drivers_of(components, work, self.core.names), core=core)

    def predict_drivers(self, drivers: CostDrivers, *, core: CoreModel | None = None) -> FamilyEstimate:
        """Latencies from arrays, without a Python loop; beyond the measured range intervals widen with the distance.

        `drivers.names` must be those of `core`.
        """
        core = core or self.core
        mean, outside = core.predict(drivers), core.doublings_outside(drivers)
        extrapolated = outside > _TOLERANCE
        widening = self.widening_per_doubling * np.where(extrapolated, outside, 0.0)
        factor = np.exp(self.widths.at(core.distance(drivers)) + widening)
        return FamilyEstimate(mean_ms=mean, low_ms=mean / factor, high_ms=mean * factor, extrapolated=extrapolated)


def fit_family(
    name: str,
    components: Sequence[Component],
    label_ms: Floats,
    work: WorkFormula,
    limits: PhysicalLimits,
    *,
    seed: int,
    doubt_N: Floats | None = None,
) -> FamilyModel:
    """Fit on all rows; weights and intervals come from fits that leave out a fold at a time.

    `doubt_N` is the relative noise of each label: rows count for less by it.
    """
    doubt_N = np.zeros(len(label_ms)) if doubt_N is None else doubt_N
    drivers = drivers_of(components, work)
    folds = deal_folds(components, seed=seed)
    fold_N = np.array([folds.of(component) for component in components], dtype=np.int64)
    fold_cores = _fold_cores(drivers, label_ms, doubt_N, fold_N, limits, seed=seed)
    fold_cores, weights = _stacked(fold_cores, drivers, label_ms, doubt_N, fold_N)
    predicted, distance = np.full(len(label_ms), np.nan), np.zeros(len(label_ms))
    for fold, core in fold_cores.items():
        rows = np.flatnonzero(fold_N == fold)
        predicted[rows], distance[rows] = core.predict(drivers.take(rows)), core.distance(drivers.take(rows))
    held = np.flatnonzero(np.isfinite(predicted))
    errors, distance = np.log(label_ms[held] / predicted[held]), distance[held]
    held_out = HeldOut(
        components=tuple(components[i] for i in held.tolist()),
        measured_ms=label_ms[held],
        predicted_ms=predicted[held],
        half_widths=cross_half_widths(errors, distance, fold_N[held]),
    )
    widths = fit_widths(errors, distance)
    return FamilyModel(
        name=name,
        kind=components[0].kind,
        core=_with_weights(fit_core(drivers, label_ms, limits, seed=seed, doubt_N=doubt_N), weights),
        widths=widths,
        widening_per_doubling=_widening(drivers, label_ms, doubt_N, widths, limits, seed=seed),
        held_out=held_out,
        folds=folds,
        fold_cores=fold_cores,
    )


def small_and_large(drivers: CostDrivers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of up to a quarter of the largest work (FLOPs, or bytes where there are none), and those beyond.

    Where few rows lie beyond, the tenth of the rows that do the most work.
    """
    size = np.log2(1 + (drivers.flops_N if drivers.flops_N.any() else drivers.bytes_N))
    is_large = size > min(float(size.max()) - _DOUBLINGS_BEYOND, float(np.quantile(size, 1 - _LEAST_BEYOND)))
    return np.flatnonzero(~is_large), np.flatnonzero(is_large)


def _widening(
    drivers: CostDrivers, label_ms: Floats, doubt_N: Floats, widths: Widths, limits: PhysicalLimits, *, seed: int
) -> float:
    """What a fit on the smaller rows lacks on the larger ones."""
    small, large = small_and_large(drivers)
    if len(small) < FEWEST_FOR_RESIDUAL:
        small, large = large[:0], large[:0]
    if not len(large):
        return widening_per_doubling(np.zeros(0), np.zeros(0), np.zeros(0))
    core = fit_core(drivers.take(small), label_ms[small], limits, seed=seed, doubt_N=doubt_N[small])
    beyond = drivers.take(large)
    errors = np.log(label_ms[large] / core.predict(beyond))
    return widening_per_doubling(errors, widths.at(core.distance(beyond)), core.doublings_outside(beyond))


def _fold_cores(
    drivers: CostDrivers,
    label_ms: Floats,
    doubt_N: Floats,
    fold_N: NDArray[np.int64],
    limits: PhysicalLimits,
    *,
    seed: int,
) -> dict[int, CoreModel]:
    cores = {}
    for fold in range(FOLDS):
        kept = np.flatnonzero(fold_N != fold)
        if _FEWEST_TO_LEARN_FROM <= len(kept) < len(fold_N):
            cores[fold] = fit_core(drivers.take(kept), label_ms[kept], limits, seed=seed, doubt_N=doubt_N[kept])
    return cores


def _stacked(
    cores: Mapping[int, CoreModel],
    drivers: CostDrivers,
    label_ms: Floats,
    doubt_N: Floats,
    fold_N: NDArray[np.int64],
) -> tuple[dict[int, CoreModel], tuple[float, float] | None]:
    """The cores with weights from the rows that the other folds hold out, and the weights from all; None: too few."""
    learned = {fold: core for fold, core in cores.items() if core.residual is not None}
    if sum(int((fold_N == fold).sum()) for fold in learned) < _FEWEST_FOR_WEIGHTS:
        return dict(cores), None
    parts, ratios = np.zeros((len(fold_N), 2)), np.zeros(len(fold_N))
    for fold, core in learned.items():
        rows = np.flatnonzero(fold_N == fold)
        held = drivers.take(rows)
        parts[rows], ratios[rows] = core.residual_parts(held), np.log(label_ms[rows] / core.roofline.predict(held))
    known = np.isin(fold_N, list(learned))
    stacked = dict(cores)
    for fold, core in learned.items():
        others = known & (fold_N != fold)
        if others.any():
            stacked[fold] = _with_weights(core, stacking_weights(parts[others], ratios[others], doubt_N[others]))
    return stacked, stacking_weights(parts[known], ratios[known], doubt_N[known])


def _with_weights(core: CoreModel, weights: tuple[float, float] | None) -> CoreModel:
    if core.residual is None or weights is None:
        return core
    return replace(core, residual=replace(core.residual, weights=weights))
