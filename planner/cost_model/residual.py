"""The learned part: log(measured / roofline) over the features, by boosted trees averaged with a Gaussian process.

Trees find the steps (cache sizes, kernel switches) over all features; the process, over the dimensions alone, is smooth
between few points. Their errors differ, so that the mean of both beats each. Array suffixes: N rows, F features.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Floats

__all__ = ["Residual", "fit_residual"]

# A measurement 7 times off the roof tells of an outlier, not of a kernel.
_LARGEST_LOG_RATIO = 2.0
# Length scales are found on at most so many rows; they need no more, and cost their cube.
_ROWS_FOR_LENGTHS = 96
_STEPS_FOR_LENGTHS = 20
_LARGEST_PROCESS = 1500


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Residual:
    """Two regressors over standardised features; `smooth_F` marks those that the process sees."""

    center_F: Floats
    scale_F: Floats
    smooth_F: NDArray[np.bool_]
    trees: Any
    process: Any

    def predict(self, features_NF: Floats) -> Floats:
        """[N]: log of the factor on the roofline."""
        if not len(features_NF):
            return np.zeros(0)
        standard = (features_NF - self.center_F) / self.scale_F
        mean: Floats = (self.trees.predict(standard) + self.process.predict(standard[:, self.smooth_F])) / 2
        return mean


def fit_residual(features_NF: Floats, log_ratio_N: Floats, *, dimensions: int, seed: int) -> Residual:
    """Fit both regressors; the first `dimensions` features are batch and shape.

    Equal rows in equal order and equal seeds give equal models.
    """
    from sklearn.ensemble import GradientBoostingRegressor

    target = np.clip(log_ratio_N, -_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO)
    center, scale = features_NF.mean(axis=0), features_NF.std(axis=0)
    smooth = (scale > 1e-9) & (np.arange(len(scale)) < dimensions)
    # A process needs a feature, be it a constant one.
    smooth[0] = True
    scale = np.where(scale > 1e-9, scale, 1.0)
    standard = (features_NF - center) / scale
    trees = GradientBoostingRegressor(
        n_estimators=70, learning_rate=0.13, max_depth=4, min_samples_leaf=2, subsample=0.7, random_state=seed
    )
    trees.fit(standard, target)
    process = _fit_process(standard[:, smooth], target)
    return Residual(center_F=center, scale_F=scale, smooth_F=smooth, trees=trees, process=process)


def _fit_process(standard: Floats, target: Floats) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    lengths = RBF(np.full(standard.shape[1], 2.0), (0.1, 1e4))
    kernel = ConstantKernel(0.1, (1e-4, 1e2)) * lengths + WhiteKernel(1e-2, (1e-5, 1e1))
    few = _spread_out(len(target), _ROWS_FOR_LENGTHS)
    search = GaussianProcessRegressor(kernel, normalize_y=True, optimizer=_few_steps)
    with warnings.catch_warnings():
        # A length scale at its bound says that a feature does not matter.
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(standard[few], target[few])
    rows = _spread_out(len(target), _LARGEST_PROCESS)
    process = GaussianProcessRegressor(search.kernel_, optimizer=None, normalize_y=True)
    return process.fit(standard[rows], target[rows])


def _few_steps(objective: Callable[..., Any], start: Floats, bounds: Any) -> tuple[Floats, float]:
    """A bounded number of steps: the likelihood is flat near its optimum, and predictions hardly move there."""
    from scipy.optimize import minimize

    found = minimize(
        objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": _STEPS_FOR_LENGTHS}
    )
    return found.x, found.fun


def _spread_out(rows: int, most: int) -> Any:
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(np.int64))
