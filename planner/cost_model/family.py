"""The model of one family of components: roofline, residual, and what held-out rows say of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Floats
from planner.cost_model.features import CostDrivers, WorkFormula, drivers_of
from planner.cost_model.intervals import FOLDS, Folds, cross_half_widths, deal_folds, half_width
from planner.cost_model.residual import Residual, fit_residual
from planner.cost_model.roofline import PhysicalLimits, Roofline, fit_roofline
from profiles.component import Component

__all__ = ["FEWEST_FOR_RESIDUAL", "FamilyEstimate", "FamilyModel", "HeldOut", "fit_family"]

FEWEST_FOR_RESIDUAL = 8
# A row is held out only from so many others: fewer tell nothing of the model.
_FEWEST_TO_LEARN_FROM = 3
# Four times beyond the measured range a roofline with a residual was seen to miss by 6 to 24 %.
_WIDENING_PER_DOUBLING = 0.1
# A dimension may exceed the measured range by so many doublings before a prediction counts as extrapolated.
_TOLERANCE = 0.1


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
class CoreModel:
    """A fit without an interval: roofline times the learned factor.

    Outside the measured range the factor is that of the range's nearest point.
    """

    names: tuple[str, ...]
    roofline: Roofline
    residual: Residual | None
    lowest_F: Floats
    highest_F: Floats

    def predict(self, drivers: CostDrivers) -> Floats:
        """[N]: latency in ms."""
        roof = self.roofline.predict(drivers)
        if self.residual is None:
            return roof
        return roof * np.exp(self.residual.predict(np.clip(drivers.features(), self.lowest_F, self.highest_F)))

    def doublings_outside(self, drivers: CostDrivers) -> Floats:
        """[N]: how far the farthest dimension lies outside the measured range, in doublings."""
        logs, count = drivers.log_dimensions(), len(self.names)
        below, above = self.lowest_F[:count] - logs, logs - self.highest_F[:count]
        outside: Floats = np.maximum(np.maximum(below, above), 0.0).max(axis=1, initial=0.0)
        return outside


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FamilyModel:
    """A fitted family. `half_width` is the 90 % interval's, in logs, inside the measured range.

    `fold_cores` are the fits without a fold each; a fold whose others are too few has none.
    """

    name: str
    kind: str
    core: CoreModel
    half_width: float
    held_out: HeldOut
    folds: Folds
    fold_cores: Mapping[int, CoreModel]

    def predict(
        self, components: Sequence[Component], work: WorkFormula, *, core: CoreModel | None = None
    ) -> FamilyEstimate:
        """Latencies, by the fit on all rows or another; beyond its range intervals widen by a tenth per doubling."""
        core = core or self.core
        drivers = drivers_of(components, work, core.names)
        mean = core.predict(drivers)
        outside = core.doublings_outside(drivers)
        extrapolated = outside > _TOLERANCE
        factor = np.exp(self.half_width + _WIDENING_PER_DOUBLING * np.where(extrapolated, outside, 0.0))
        return FamilyEstimate(mean_ms=mean, low_ms=mean / factor, high_ms=mean * factor, extrapolated=extrapolated)


def fit_family(
    name: str,
    components: Sequence[Component],
    label_ms: Floats,
    work: WorkFormula,
    limits: PhysicalLimits,
    *,
    seed: int,
) -> FamilyModel:
    """Fit on all rows; the interval comes from fits that leave out a fold at a time."""
    drivers = drivers_of(components, work)
    folds = deal_folds(components, seed=seed)
    fold_N = np.array([folds.of(component) for component in components], dtype=np.int64)
    fold_cores = _fold_cores(drivers, label_ms, fold_N, limits, seed=seed)
    predicted = np.full(len(label_ms), np.nan)
    for fold, core in fold_cores.items():
        predicted[fold_N == fold] = core.predict(drivers.take(np.flatnonzero(fold_N == fold)))
    held = np.flatnonzero(np.isfinite(predicted))
    errors = np.log(label_ms[held] / predicted[held])
    held_out = HeldOut(
        components=tuple(components[i] for i in held.tolist()),
        measured_ms=label_ms[held],
        predicted_ms=predicted[held],
        half_widths=cross_half_widths(errors, fold_N[held]),
    )
    return FamilyModel(
        name=name,
        kind=components[0].kind,
        core=fit_core(drivers, label_ms, limits, seed=seed),
        half_width=half_width(errors),
        held_out=held_out,
        folds=folds,
        fold_cores=fold_cores,
    )


def fit_core(drivers: CostDrivers, label_ms: Floats, limits: PhysicalLimits, *, seed: int) -> CoreModel:
    """Roofline, and a residual where there are rows enough for one."""
    roofline = fit_roofline(drivers, label_ms, limits)
    features = drivers.features()
    residual = None
    if len(label_ms) >= FEWEST_FOR_RESIDUAL:
        ratios = np.log(label_ms / roofline.predict(drivers))
        residual = fit_residual(features, ratios, dimensions=len(drivers.names), seed=seed)
    return CoreModel(
        names=drivers.names,
        roofline=roofline,
        residual=residual,
        lowest_F=features.min(axis=0),
        highest_F=features.max(axis=0),
    )


def _fold_cores(
    drivers: CostDrivers, label_ms: Floats, fold_N: NDArray[np.int64], limits: PhysicalLimits, *, seed: int
) -> dict[int, CoreModel]:
    cores = {}
    for fold in range(FOLDS):
        kept = np.flatnonzero(fold_N != fold)
        if _FEWEST_TO_LEARN_FROM <= len(kept) < len(fold_N):
            cores[fold] = fit_core(drivers.take(kept), label_ms[kept], limits, seed=seed)
    return cores
