"""The mean of a Gaussian process with a length scale per feature, whose hyperparameters maximise the likelihood.

scikit-learn's does the same, and is what the tests hold it to; on a hundred rows it takes several times as long, for
copies of kernels and checks. Array suffixes: N rows, D features.
"""

from dataclasses import dataclass

import numpy as np

from planner.cost_model.estimates import Floats

__all__ = ["ProcessKernel", "fit_kernel", "kernel_weights"]

_FIRST = {"signal": 0.1, "length": 2.0, "noise": 1e-2}
_BOUNDS = {"signal": (1e-4, 1e2), "length": (0.1, 1e4), "noise": (1e-5, 1e1)}
# The likelihood is flat near its optimum, and predictions hardly move there.
_STEPS = 12


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ProcessKernel:
    """Covariances `signal * exp(-0.5 sum_d (difference_d / length_d)^2)`, and a variance `noise` of each row alone."""

    signal: float
    lengths_D: Floats
    noise: float


def fit_kernel(features_ND: Floats, target_N: Floats, variance_N: Floats) -> ProcessKernel:
    """Maximise the marginal likelihood (Rasmussen and Williams, 2006, eq. 5.9) of targets with zero mean.

    `variance_N` is what is known of each row's noise.
    """
    from scipy.optimize import minimize

    count = features_ND.shape[1]
    first = np.log([_FIRST["signal"], *[_FIRST["length"]] * count, _FIRST["noise"]])
    bounds = np.log([_BOUNDS["signal"], *[_BOUNDS["length"]] * count, _BOUNDS["noise"]])
    squares_DNN = (features_ND.T[:, :, None] - features_ND.T[:, None, :]) ** 2
    likelihood = _Likelihood(squares_DNN=squares_DNN, target_N=target_N, variance_N=variance_N)
    found = minimize(
        likelihood.negative, first, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": _STEPS}
    )
    signal, *lengths, noise = np.exp(found.x).tolist()
    return ProcessKernel(signal=signal, lengths_D=np.array(lengths), noise=noise)


def kernel_weights(kernel: ProcessKernel, features_ND: Floats, target_N: Floats, variance_N: Floats) -> Floats:
    """[N]: what each row's bell, of height 1, counts in the mean."""
    from scipy.linalg import cho_factor, cho_solve

    scaled = features_ND / kernel.lengths_D
    squares = (scaled**2).sum(axis=1)
    distances_NN = np.maximum(squares[:, None] + squares - 2 * scaled @ scaled.T, 0.0)
    covariance = kernel.signal * np.exp(-0.5 * distances_NN)
    covariance[np.diag_indices(len(squares))] = kernel.signal + kernel.noise + variance_N
    weights: Floats = kernel.signal * cho_solve(cho_factor(covariance, lower=True), target_N)
    return weights


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Likelihood:
    squares_DNN: Floats
    target_N: Floats
    variance_N: Floats

    def negative(self, logs: Floats) -> tuple[float, Floats]:
        """Minus the log likelihood, without its constant, and its gradient, by logarithms of signal, lengths, noise."""
        from scipy.linalg.lapack import dpotrf, dpotri

        signal, noise = np.exp(logs[0]), np.exp(logs[-1])
        inverse_squares_D = np.exp(-2 * logs[1:-1])
        bells_NN = signal * np.exp(-0.5 * np.tensordot(inverse_squares_D, self.squares_DNN, 1))
        covariance = bells_NN.copy()
        covariance[np.diag_indices(len(covariance))] += noise + self.variance_N
        factor, failed = dpotrf(covariance, lower=1)
        if failed:
            return np.inf, np.zeros(len(logs))
        half = dpotri(factor, lower=1)[0]
        inverse = np.tril(half) + np.tril(half, -1).T
        weights = inverse @ self.target_N
        negative = 0.5 * self.target_N @ weights + np.log(np.diag(factor)).sum()
        slopes_NN = np.outer(weights, weights) - inverse
        slope_of_bells = slopes_NN * bells_NN
        by_length = np.tensordot(self.squares_DNN, slope_of_bells, 2) * inverse_squares_D
        gradient = -0.5 * np.array([slope_of_bells.sum(), *by_length, noise * np.trace(slopes_NN)])
        return float(negative), gradient
