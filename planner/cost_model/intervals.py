"""90 % intervals from held-out errors (split conformal prediction), and the folds that hold rows out.

Errors are normalised by what the distance to the nearest measured rows lets expect of them, so that intervals are
narrow amid many rows and wide where there are few (normalised conformal prediction: Papadopoulos et al., 2008).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Floats
from planner.cost_model.features import dimensions_of
from profiles.component import Component

__all__ = [
    "COVERAGE",
    "FOLDS",
    "Folds",
    "Widths",
    "cross_half_widths",
    "deal_folds",
    "fit_widths",
    "fold_numbers",
    "half_width",
    "widening_per_doubling",
]

COVERAGE = 0.9
FOLDS = 5
# With fewer errors than this no quantile of them reaches the coverage; then a factor of two stands in.
_FEWEST_ERRORS = 3
_ASSUMED_HALF_WIDTH = math.log(2)
_LEAST_HALF_WIDTH = 0.01
# So many errors tell how they grow with the distance.
_FEWEST_FOR_DISTANCE = 20
# Four times beyond the measured range a roofline with a residual was seen to miss by 6 to 24 %, and more at times.
_ASSUMED_WIDENING = 0.15
_FEWEST_BEYOND = 5


def half_width(log_errors: Floats) -> float:
    """Half the interval's width in logs: the conformal quantile of |log(measured / predicted)|.

    With too few errors for the quantile, half as much again as the largest; below three errors, a factor of 2.
    """
    errors = np.sort(np.abs(log_errors))
    if len(errors) < _FEWEST_ERRORS:
        return _ASSUMED_HALF_WIDTH
    return max(_conformal_quantile(errors), _LEAST_HALF_WIDTH)


@dataclass(frozen=True, kw_only=True, slots=True)
class Widths:
    """Half-widths in logs: `quantile` times the error expected at a distance, `near + per_doubling * distance`."""

    quantile: float
    near: float = 1.0
    per_doubling: float = 0.0

    def at(self, distance_N: Floats) -> Floats:
        """[N]: half-widths at distances from the nearest measured rows, in doublings."""
        widths: Floats = np.maximum(self.quantile * self._expected(distance_N), _LEAST_HALF_WIDTH)
        return widths

    def _expected(self, distance_N: Floats) -> Floats:
        return self.near + self.per_doubling * distance_N


def fit_widths(log_errors: Floats, distance_N: Floats) -> Widths:
    """Widths that cover nine in ten of such errors; the same everywhere where the errors are too few to tell more."""
    from scipy.optimize import nnls

    errors = np.abs(log_errors)
    if len(errors) < _FEWEST_FOR_DISTANCE or not errors.any():
        return Widths(quantile=half_width(errors))
    # A wild error must not make the slope.
    capped = np.minimum(errors, 2 * np.quantile(errors, COVERAGE))
    (near, slope), _ = nnls(np.column_stack((np.ones(len(errors)), distance_N)), capped)
    near = max(near, 0.25 * float(capped.mean()))
    return Widths(quantile=half_width(errors / (near + slope * distance_N)), near=near, per_doubling=slope)


def widening_per_doubling(log_errors: Floats, half_width_N: Floats, outside_N: Floats) -> float:
    """What intervals must gain per doubling beyond the measured range, to cover nine in ten of errors seen there."""
    beyond = outside_N > 0
    if beyond.sum() < _FEWEST_BEYOND:
        return _ASSUMED_WIDENING
    lacking = np.sort((np.abs(log_errors) - half_width_N)[beyond] / outside_N[beyond])
    return max(_ASSUMED_WIDENING, _conformal_quantile(lacking))


def _conformal_quantile(ordered: Floats) -> float:
    """The quantile that covers nine in ten of new values; with too few values, half as much again as the largest."""
    rank = math.ceil((len(ordered) + 1) * COVERAGE)
    return float(1.5 * ordered[-1] if rank > len(ordered) else ordered[rank - 1])


@dataclass(frozen=True, kw_only=True, slots=True)
class Folds:
    """Which fold holds which components of a family out: whole shapes, or where these are few, shapes at a batch."""

    by_shape: bool
    fold_of: Mapping[tuple[float, ...], int]

    def of(self, component: Component) -> int | None:
        """The fold that holds the component out, None for one that is in no fold."""
        return self.fold_of.get(_group(component, by_shape=self.by_shape))


def deal_folds(components: Sequence[Component], *, seed: int, folds: int = FOLDS) -> Folds:
    """Deal components of one family to folds.

    All batches of a shape share a fold, so that held-out errors are those of shapes never seen; with fewer shapes than
    folds, single rows are dealt instead. Components that the cost model cannot tell apart never part.
    """
    groups = sorted({_group(component, by_shape=True) for component in components})
    by_shape = len(groups) >= folds
    if not by_shape:
        groups = sorted({_group(component, by_shape=False) for component in components})
    dealt = np.random.default_rng(seed).permutation(len(groups)) % folds
    return Folds(by_shape=by_shape, fold_of=dict(zip(groups, dealt.tolist(), strict=True)))


def fold_numbers(components: Sequence[Component], *, seed: int, folds: int = FOLDS) -> NDArray[np.int64]:
    """[N]: the fold that holds each of the components out, as `deal_folds` deals them."""
    dealt = deal_folds(components, seed=seed, folds=folds)
    return np.array([dealt.of(component) for component in components], dtype=np.int64)


def _group(component: Component, *, by_shape: bool) -> tuple[float, ...]:
    shape = tuple(dimensions_of(component).values())
    return shape if by_shape else (*shape, float(component.batch))


def cross_half_widths(log_errors: Floats, distance_N: Floats, fold_N: NDArray[np.int64]) -> Floats:
    """[N]: half-widths for each row from the errors of the other folds, so that coverage can be measured honestly."""
    widths = np.empty(len(log_errors))
    for fold in np.unique(fold_N):
        held_out = fold_N == fold
        widths[held_out] = fit_widths(log_errors[~held_out], distance_N[~held_out]).at(distance_N[held_out])
    return widths
