"""A quick model of a family, by which a sweep decides where to measure next.

The physical roofline times a Gaussian process over the logs of the dimensions and how they fit vectors. Unlike the full
cost model it is refitted in milliseconds, its variance is known everywhere, and its errors on shapes left out have a
closed form.
Array suffixes: N rows, M candidates, D dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Floats
from planner.cost_model.features import CostDrivers
from planner.cost_model.roofline import PhysicalLimits, fit_roofline

__all__ = ["Surrogate", "fit_surrogate"]

# Tried in turn, and the likeliest kept: length scales in units of a dimension's range, noise in those of its variance.
_LENGTHS = (0.15, 0.3, 0.6, 1.2)
_NOISES = (1e-3, 1e-2, 1e-1)
# How far apart a size that fits vectors lies from one that does not, in the same unit.
_ALIGNMENTS = (0.0, 0.5)
_WIDEST_VECTOR = 16
_JITTER = 1e-9
_LEAST_SPREAD = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Surrogate:
    """Log errors `held_out_N` of each row as predicted without any row of its shape, and what variance needs."""

    held_out_N: Floats
    center_D: Floats
    range_D: Floats
    alignment: float
    length: float
    noise: float
    places_ND: Floats
    inverse_NN: Floats

    @property
    def mape(self) -> float:
        """Mean absolute relative error of shapes held out."""
        return float(np.mean(np.abs(np.expm1(self.held_out_N))))

    def choose(self, candidates: CostDrivers, count: int) -> list[int]:
        """Which candidates to measure: one by one those that teach most of all, given those chosen before.

        What a measurement teaches is the variance that it takes from all candidates, each weighed by how wrong the
        model was about the rows around it: what is smooth needs few points, a step in the kernel many. Rejected: the
        candidate of the greatest variance itself, which lies at the rim of the space and tells little of the rest.
        """
        places_MD = self._scaled(candidates)
        across_MN = _kernel(places_MD, self.places_ND, self.length)
        weight_M = self._wrongness(across_MN)
        covariance_MM = _kernel(places_MD, places_MD, self.length) - across_MN @ self.inverse_NN @ across_MN.T
        chosen: list[int] = []
        for _ in range(min(count, len(weight_M))):
            variance_M = np.maximum(covariance_MM.diagonal(), 0.0) + self.noise
            taught_M = weight_M @ covariance_MM**2 / variance_M
            taught_M[chosen] = -np.inf
            best = int(taught_M.argmax())
            chosen.append(best)
            column_M = covariance_MM[:, best] / np.sqrt(variance_M[best])
            covariance_MM -= np.outer(column_M, column_M)
        return chosen

    def _wrongness(self, across_MN: Floats) -> Floats:
        """[M]: mean squared error held out of the rows around, over that of all."""
        squares_N = self.held_out_N**2
        overall = max(float(squares_N.mean()), _LEAST_SPREAD**2)
        near: Floats = (across_MN @ squares_N + overall) / (across_MN.sum(axis=1) + 1)
        return near / overall

    def _scaled(self, drivers: CostDrivers) -> Floats:
        return _places(drivers, self.center_D, self.range_D, self.alignment)


def fit_surrogate(
    drivers: CostDrivers, label_ms: Floats, limits: PhysicalLimits, shapes: Sequence[object]
) -> Surrogate:
    """Fit on all rows; `shapes` [N] are equal where rows are to be held out together."""
    ratio_N = np.log(label_ms / fit_roofline(drivers, label_ms, limits).predict(drivers))
    ratio_N = ratio_N - ratio_N.mean()
    spread = max(float(ratio_N.std()), _LEAST_SPREAD)
    target_N = ratio_N / spread
    logs_ND = drivers.log_dimensions()
    center_D, range_D = logs_ND.min(axis=0), np.ptp(logs_ND, axis=0)
    range_D = np.where(range_D > 0, range_D, 1.0)
    best: tuple[float, float, float, float, Floats, Floats] | None = None
    for alignment in _ALIGNMENTS:
        places_ND = _places(drivers, center_D, range_D, alignment)
        for length, noise in product(_LENGTHS, _NOISES):
            inverse_NN, likelihood = _process(places_ND, target_N, length, noise)
            if best is None or likelihood > best[0]:
                best = (likelihood, alignment, length, noise, places_ND, inverse_NN)
    assert best is not None  # noqa: S101 (there is a combination to try)
    _, alignment, length, noise, places_ND, inverse_NN = best
    return Surrogate(
        held_out_N=_held_out(inverse_NN, target_N, shapes) * spread,
        center_D=center_D,
        range_D=range_D,
        alignment=alignment,
        length=length,
        noise=noise,
        places_ND=places_ND,
        inverse_NN=inverse_NN,
    )


def _places(drivers: CostDrivers, center_D: Floats, range_D: Floats, alignment: float) -> Floats:
    """[N, 2 D]: each dimension's log as a share of its range, and how many powers of two divide it, up to 16."""
    whole_ND = np.maximum(drivers.dimensions_ND, 1).astype(np.int64)
    divisors_ND = np.log2(np.minimum(whole_ND & -whole_ND, _WIDEST_VECTOR)) / np.log2(_WIDEST_VECTOR)
    return np.hstack(((drivers.log_dimensions() - center_D) / range_D, alignment * divisors_ND))


def _process(places_ND: Floats, target_N: Floats, length: float, noise: float) -> tuple[Floats, float]:
    """The inverse covariance, and the log likelihood of the target."""
    covariance_NN = _kernel(places_ND, places_ND, length) + (noise + _JITTER) * np.eye(len(target_N))
    factor = np.linalg.cholesky(covariance_NN)
    inverse_NN = np.asarray(np.linalg.inv(covariance_NN), dtype=np.float64)
    likelihood = -0.5 * float(target_N @ inverse_NN @ target_N) - float(np.log(np.diag(factor)).sum())
    return inverse_NN, likelihood


def _held_out(inverse_NN: Floats, target_N: Floats, shapes: Sequence[object]) -> Floats:
    """[N]: errors without the rows of each shape in turn (Rasmussen and Williams, equation 5.12, by blocks)."""
    pull_N = inverse_NN @ target_N
    errors_N = np.empty(len(target_N))
    groups: dict[object, list[int]] = {}
    for place, shape in enumerate(shapes):
        groups.setdefault(shape, []).append(place)
    for places in groups.values():
        block: NDArray[np.int64] = np.array(places)
        errors_N[block] = np.linalg.solve(inverse_NN[np.ix_(block, block)], pull_N[block])
    return errors_N


def _kernel(left_MD: Floats, right_ND: Floats, length: float) -> Floats:
    """Matern 3/2: costs have kinks, and a smoother kernel would be too sure between them."""
    distance_MN = np.sqrt(((left_MD[:, None] - right_ND[None]) ** 2).sum(axis=2)) * (np.sqrt(3) / length)
    kernel: Floats = (1 + distance_MN) * np.exp(-distance_MN)
    return kernel
