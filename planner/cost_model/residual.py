"""The learned part: log(measured / roofline) over the features, by boosted trees and a Gaussian process, weighted.

Trees find the steps (cache sizes, kernel switches) over all features; the process, over the dimensions alone, is smooth
between few points. Their errors differ, so that a weighted mean of both beats each; where neither finds anything beyond
the noise, small weights leave the roofline as it is. Array suffixes: N rows, F features, M training rows, D features
that the process sees.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Floats
from planner.cost_model.gaussian_process import fit_kernel, kernel_weights

__all__ = ["Residual", "SmoothPart", "fit_residual", "stacking_weights", "weights_of"]

# Rows so many spreads off the others, but no less than a quarter, count as that far off and no further: most of them
# were mismeasured, and squared errors would bend all others towards them.
_MOST_SPREADS = 4.0
_LEAST_FAR_OFF = 0.25
_HUBER = 1.345
_HUBER_ROUNDS = 4
_LEAST_SPREAD = 0.01
_SPREAD_OF_MEDIAN = 1.4826
# Length scales are found on at most so many rows; they need no more, and cost their cube.
_ROWS_FOR_LENGTHS = 72
_LARGEST_PROCESS = 1500
# Rows evaluated at once, so that a million predictions fit into memory.
_BLOCK = 4096
# Draws the weights towards none, so the roofline alone, as much as a third of the rows would.
_WEIGHT_RIDGE = 0.3
_EQUAL_WEIGHTS = (0.5, 0.5)
# What a good model leaves of rows without noise: noise below it hardly matters.
_MISFIT = 0.05
_LEAST_VARIANCE = 1e-10


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SmoothPart:
    """The mean of a Gaussian process: a sum of bells about its training rows, whose coordinates count length scales."""

    lengths_D: Floats
    points_MD: Floats
    weights_M: Floats
    offset: float

    def predict(self, features_ND: Floats) -> Floats:
        """[N]: the mean."""
        mean = np.empty(len(features_ND))
        squares_M = (self.points_MD**2).sum(axis=1)
        for start in range(0, len(mean), _BLOCK):
            block = features_ND[start : start + _BLOCK] / self.lengths_D
            distances = (block**2).sum(axis=1)[:, None] + squares_M - 2 * block @ self.points_MD.T
            mean[start : start + _BLOCK] = np.exp(-0.5 * np.maximum(distances, 0.0)) @ self.weights_M + self.offset
        return mean


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Residual:
    """Two regressors over standardised features; `smooth_F` marks those that the process sees."""

    center_F: Floats
    scale_F: Floats
    smooth_F: NDArray[np.bool_]
    trees: Any
    process: SmoothPart
    weights: tuple[float, float] = _EQUAL_WEIGHTS

    def predict(self, features_NF: Floats) -> Floats:
        """[N]: log of the factor on the roofline."""
        mean: Floats = self.parts(features_NF) @ np.array(self.weights)
        return mean

    def parts(self, features_NF: Floats) -> Floats:
        """[N, 2]: what the trees and the process say."""
        if not len(features_NF):
            return np.zeros((0, 2))
        standard = (features_NF - self.center_F) / self.scale_F
        return np.column_stack((self.trees.predict(standard), self.process.predict(standard[:, self.smooth_F])))


def fit_residual(
    features_NF: Floats, log_ratio_N: Floats, *, dimensions: int, seed: int, doubt_N: Floats | None = None
) -> Residual:
    """Fit both regressors; the first `dimensions` features are batch and shape.

    `doubt_N` is the standard deviation of each row's own noise, beside what all rows have.
    Equal rows in equal order and equal seeds give equal models.
    """
    from sklearn import config_context
    from sklearn.ensemble import GradientBoostingRegressor

    target = _without_outliers(log_ratio_N)
    doubt = np.zeros(len(target)) if doubt_N is None else doubt_N
    center, scale = features_NF.mean(axis=0), features_NF.std(axis=0)
    smooth = (scale > 1e-9) & (np.arange(len(scale)) < dimensions)
    # A process needs a feature, be it a constant one.
    smooth[0] = True
    scale = np.where(scale > 1e-9, scale, 1.0)
    standard = (features_NF - center) / scale
    trees = GradientBoostingRegressor(
        n_estimators=45,
        learning_rate=0.18,
        max_depth=4,
        min_samples_leaf=2,
        subsample=0.7,
        max_features=0.7,
        random_state=seed,
    )
    # Checks of input that was checked cost half of a fit of so few rows.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        trees.fit(standard, target, sample_weight=weights_of(doubt))
        process = _fit_process(standard[:, smooth], target, doubt)
    return Residual(center_F=center, scale_F=scale, smooth_F=smooth, trees=trees, process=process)


def weights_of(doubt_N: Floats) -> Floats:
    """Weights of squared errors, 1 without doubt: the inverse of the variance beside the model's own."""
    weights: Floats = 1 / (1 + (doubt_N / _MISFIT) ** 2)
    return weights


def stacking_weights(parts_N2: Floats, log_ratio_N: Floats, doubt_N: Floats | None = None) -> tuple[float, float]:
    """Weights in [0, 1] of trees and process that suit most held-out rows (Huber), drawn towards none."""
    from scipy.optimize import lsq_linear

    target = _without_outliers(log_ratio_N)
    own_N = np.ones(len(target)) if doubt_N is None else np.sqrt(weights_of(doubt_N))
    weights, found = own_N, np.array(_EQUAL_WEIGHTS)
    for _ in range(_HUBER_ROUNDS):
        weighted = parts_N2 * weights[:, None]
        ridge = np.sqrt(_WEIGHT_RIDGE * np.mean(weighted**2) * len(target) + 1e-12) * np.eye(2)
        wanted = np.concatenate((target * weights, np.zeros(2)))
        found = lsq_linear(np.vstack((weighted, ridge)), wanted, (0.0, 1.0), method="bvls").x
        errors = np.abs(parts_N2 @ found - target)
        near = _HUBER * max(_SPREAD_OF_MEDIAN * float(np.median(errors)), _LEAST_SPREAD)
        weights = own_N * np.sqrt(np.minimum(1.0, near / np.maximum(errors, 1e-12)))
    trees, process = found.tolist()
    return trees, process


def _without_outliers(log_ratio_N: Floats) -> Floats:
    middle = float(np.median(log_ratio_N))
    spread = _SPREAD_OF_MEDIAN * float(np.median(np.abs(log_ratio_N - middle)))
    most = max(_MOST_SPREADS * spread, _LEAST_FAR_OFF)
    return np.clip(log_ratio_N, middle - most, middle + most)


def _fit_process(standard: Floats, target: Floats, doubt: Floats) -> SmoothPart:
    offset, spread = float(target.mean()), float(target.std()) or 1.0
    normal = (target - offset) / spread
    variance = _LEAST_VARIANCE + (doubt / spread) ** 2
    few = _spread_out(len(target), _ROWS_FOR_LENGTHS)
    kernel = fit_kernel(standard[few], normal[few], variance[few])
    rows = _spread_out(len(target), _LARGEST_PROCESS)
    weights_M = spread * kernel_weights(kernel, standard[rows], normal[rows], variance[rows])
    return SmoothPart(
        lengths_D=kernel.lengths_D, points_MD=standard[rows] / kernel.lengths_D, weights_M=weights_M, offset=offset
    )


def _spread_out(rows: int, most: int) -> Any:
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(np.int64))
