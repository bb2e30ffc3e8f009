"""A fit of one family without an interval: the roofline times a learned factor, and what lies outside its rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.cost_model.estimates import Floats
from planner.cost_model.features import CostDrivers
from planner.cost_model.residual import Residual, fit_residual, weights_of
from planner.cost_model.roofline import PhysicalLimits, Roofline, fit_roofline

__all__ = ["FEWEST_FOR_RESIDUAL", "CoreModel", "fit_core"]

FEWEST_FOR_RESIDUAL = 8
_NEIGHBOURS = 3
_EDGE_NEIGHBOURS = 5
# So many doublings beyond the measured range, a third of the learned factor's detail is left.
_FADING_DOUBLINGS = 3.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CoreModel:
    """Latency is the roofline's, over the utilisation of it that the rows show.

    Outside the measured range the learned factor is that of the range's nearest point, and fades with the distance
    towards the mean factor of the nearest measured rows. `places` is a tree over the rows' logarithms of dimensions and
    work, `log_ratio_N` their factors.
    """

    names: tuple[str, ...]
    roofline: Roofline
    residual: Residual | None
    lowest_F: Floats
    highest_F: Floats
    places: Any
    log_ratio_N: Floats

    def predict(self, drivers: CostDrivers) -> Floats:
        """[N]: latency in ms."""
        roof = self.roofline.predict(drivers)
        if self.residual is None:
            return roof
        factor = self.residual_parts(drivers) @ np.array(self.residual.weights)
        outside = self.doublings_outside(drivers)
        rows = np.flatnonzero(outside > 0)
        if len(rows):
            edge = self._edge_factor(drivers.take(rows))
            factor[rows] = edge + (factor[rows] - edge) * np.exp(-outside[rows] / _FADING_DOUBLINGS)
        latency: Floats = roof * np.exp(factor)
        return latency

    def residual_parts(self, drivers: CostDrivers) -> Floats:
        """[N, 2]: log factors by trees and process at the nearest point of the measured range."""
        if self.residual is None:
            return np.zeros((len(drivers.batch), 2))
        return self.residual.parts(np.clip(drivers.features(), self.lowest_F, self.highest_F))

    def doublings_outside(self, drivers: CostDrivers) -> Floats:
        """[N]: how far the farthest dimension, or the work, lies outside the measured range, in doublings.

        Less work than measured is no extrapolation: the overhead, which is known, leads there.
        """
        places, count = _places(drivers), len(self.names)
        lowest, highest = self._range()
        below, above = (lowest - places)[:, :count], places - highest
        outside: Floats = np.maximum(np.maximum(below.max(axis=1), above.max(axis=1)), 0.0)
        return outside

    def distance(self, drivers: CostDrivers) -> Floats:
        """[N]: mean distance to the nearest rows, in doublings."""
        count = min(_NEIGHBOURS, self.places.n)
        away: Floats = self.places.query(_places(drivers), k=list(range(1, count + 1)))[0].mean(axis=1)
        return away

    def _range(self) -> tuple[Floats, Floats]:
        return self.places.mins, self.places.maxes

    def _edge_factor(self, drivers: CostDrivers) -> Floats:
        count = min(_EDGE_NEIGHBOURS, self.places.n)
        nearest = self.places.query(np.clip(_places(drivers), *self._range()), k=list(range(1, count + 1)))[1]
        factor: Floats = self.log_ratio_N[nearest].mean(axis=1)
        return factor


def fit_core(
    drivers: CostDrivers, label_ms: Floats, limits: PhysicalLimits, *, seed: int, doubt_N: Floats | None = None
) -> CoreModel:
    """Roofline, and a residual where there are rows enough for one; `doubt_N` is the relative noise of each label."""
    from scipy.spatial import cKDTree

    weights = None if doubt_N is None else weights_of(doubt_N)
    roofline = fit_roofline(drivers, label_ms, limits, weights_N=weights)
    features = drivers.features()
    ratios = np.log(label_ms / roofline.predict(drivers))
    residual = None
    if len(label_ms) >= FEWEST_FOR_RESIDUAL:
        residual = fit_residual(features, ratios, dimensions=len(drivers.names), seed=seed, doubt_N=doubt_N)
    return CoreModel(
        names=drivers.names,
        roofline=roofline,
        residual=residual,
        lowest_F=features.min(axis=0),
        highest_F=features.max(axis=0),
        places=cKDTree(_places(drivers)),
        log_ratio_N=ratios,
    )


def _places(drivers: CostDrivers) -> Floats:
    return np.column_stack((drivers.log_dimensions(), drivers.log_work()))
