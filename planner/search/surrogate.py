"""What finished and begun trainings say of the accuracy of others: a Gaussian process over features and rungs.

`y(x, s) = f(x) + h(x, l(s)) + u(candidate) + noise`. The lateness `l` is 0 at the end of a training and grows to 1 at
its lowest rung as losses fall, with the root of the share that was trained (a usual exponent: Hestness et al. 2017,
arXiv 1712.00409). What is still to be gained, `h`, is to equal parts proportional to `l` and a random walk along it, so
that what early scores say of final ones is learned, and never believed to the letter. Lengthscales, one per feature,
and variances are those of the highest posterior; the prior of the lengthscales grows with the number of features
(Hvarfner et al. 2024, arXiv 2402.02229).

Suffixes: O observations, N candidates, X features, P parameters.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError

__all__ = [
    "Observations",
    "Surrogate",
    "fit_surrogate",
    "negative_log_posterior",
    "prior_parameters",
]

Floats = NDArray[np.float64]

# Parameters before the lengthscales, as logarithms of variances of standardised values.
_F, _H, _U, _NOISE = range(4)
_LEAST_NOISE = 1e-6
_BASE = np.log(np.array([1.0, 4.0, 0.05, 0.02]))
_BASE_SPREAD = np.array([1.0, 0.7, 1.5, 1.5])
_LENGTH_SPREAD = 1.0
# How far the mean of all candidates may lie from the observed one, and may move from the lowest rung to the end.
_SHIFT, _RUNG_SHIFT = 1.0, 9.0
_BLOCK = 4096
_STEPS = 30


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Observations:
    """Scores of O trainings: of which candidate (rows of equal number are of one), at which share of a training."""

    features_OX: Floats
    candidate_O: NDArray[np.intp]
    share_O: Floats
    value_O: Floats

    def __post_init__(self) -> None:
        count = len(self.value_O)
        if not count or not len(self.features_OX) == len(self.candidate_O) == len(self.share_O) == count:
            raise InputError("observations: must be one or more, with as many features, candidates and shares")
        if not (np.isfinite(self.features_OX).all() and np.isfinite(self.value_O).all()):
            raise InputError("observations: must be finite")
        if not ((self.share_O > 0) & (self.share_O <= 1)).all():
            raise InputError("observations: shares must be above 0 and at most 1")

    def first(self, count: int) -> "Observations":
        """The first of them."""
        return Observations(
            features_OX=self.features_OX[:count],
            candidate_O=self.candidate_O[:count],
            share_O=self.share_O[:count],
            value_O=self.value_O[:count],
        )


class Surrogate:
    """A fitted process; made by `fit_surrogate`."""

    def __init__(self, seen: Observations, theta_P: Floats) -> None:
        self._seen, self.theta_P = seen, theta_P
        self._centre, self._scale = _standard(seen.value_O)
        self._late_O = _lateness(seen.share_O)
        cholesky_OO = np.linalg.cholesky(_covariance(theta_P, seen, self._late_O))
        self._whitener_OO = np.linalg.inv(cholesky_OO)
        self._weights_O = self._whitener_OO.T @ (self._whitener_OO @ ((seen.value_O - self._centre) / self._scale))

    def predict(self, features_NX: Floats, candidate_N: NDArray[np.intp] | None = None) -> tuple[Floats, Floats]:
        """Mean and standard deviation after a whole training, both [N]; `candidate_N` tells which were begun."""
        mean_N, std_N, chance = self.predict_apart(features_NX, candidate_N)
        return mean_N, np.hypot(std_N, chance)

    def predict_apart(
        self, features_NX: Floats, candidate_N: NDArray[np.intp] | None = None
    ) -> tuple[Floats, Floats, float]:
        """Means, the standard deviations of what features explain, and that of what is chance in one training.

        An unseen twin of a known candidate has none of the former, and promises nothing but luck.
        """
        candidates_N = np.full(len(features_NX), -1, dtype=np.intp) if candidate_N is None else candidate_N
        blocks = range(0, max(len(features_NX), 1), _BLOCK)
        parts = [self._predict(features_NX[i : i + _BLOCK], candidates_N[i : i + _BLOCK]) for i in blocks]
        variances = np.exp(self.theta_P[:4])
        chance = self._scale * float(np.sqrt(variances[_U] + variances[_NOISE]))
        return np.concatenate([mean for mean, _ in parts]), np.concatenate([std for _, std in parts]), chance

    def _predict(self, features_NX: Floats, candidate_N: NDArray[np.intp]) -> tuple[Floats, Floats]:
        variances, lengths_X = np.exp(self.theta_P[:4]), np.exp(self.theta_P[4:])
        alike_NO = np.exp(-0.5 * _squares(features_NX / lengths_X, self._seen.features_OX / lengths_X))
        explained_NO = variances[_F] * alike_NO + _SHIFT
        same_NO = candidate_N[:, None] == self._seen.candidate_O
        white_NO = explained_NO @ self._whitener_OO.T
        variance_N = np.maximum(variances[_F] + _SHIFT - (white_NO**2).sum(axis=1), 1e-12)
        mean_N = self._centre + self._scale * ((explained_NO + variances[_U] * same_NO) @ self._weights_O)
        return mean_N, self._scale * np.sqrt(variance_N)


def fit_surrogate(seen: Observations, start_P: Floats | None = None, *, steps: int = 30) -> Surrogate:
    """The process that these observations make most plausible; `start_P` is an earlier one's `theta_P`.

    With `steps` 0 the parameters stay as they are and only the observations are taken in.
    """
    theta_P = prior_parameters(seen.features_OX.shape[1]) if start_P is None else start_P
    if steps and len(seen.value_O) > 2:
        from scipy.optimize import minimize

        bounds = [(np.log(_LEAST_NOISE), 5.0)] * 4 + [(-3.0, 6.0)] * (len(theta_P) - 4)
        found = minimize(
            negative_log_posterior,
            theta_P,
            args=(seen,),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": steps},
        )
        theta_P = np.asarray(found.x, dtype=np.float64)
    return Surrogate(seen, theta_P)


def prior_parameters(features: int) -> Floats:
    """The most plausible parameters before anything is observed, [4 + X]."""
    length = np.log(np.sqrt(2.0)) + 0.5 * np.log(max(features, 1))
    parameters_P: Floats = np.concatenate((_BASE, np.full(features, length)))
    return parameters_P


def _prior_spread(features: int) -> Floats:
    return np.concatenate((_BASE_SPREAD, np.full(features, _LENGTH_SPREAD)))


def _standard(value_O: Floats) -> tuple[float, float]:
    spread = float(value_O.std())
    return float(value_O.mean()), spread if spread > 0 else 1.0


def _lateness(share_O: Floats) -> Floats:
    """0 for a whole training, 1 for the lowest share that was seen."""
    to_gain_O: Floats = share_O**-0.5 - 1
    most = float(to_gain_O.max())
    return to_gain_O / most if most > 0 else to_gain_O


def _late_together(late_O: Floats) -> Floats:
    """[O, O]: the covariance of what is still to be gained at two latenesses, 1 at the lowest rung."""
    together_OO: Floats = (np.outer(late_O, late_O) + np.minimum(late_O[:, None], late_O)) / 2
    return together_OO


def _squares(left_NX: Floats, right_OX: Floats) -> Floats:
    """Squared distances [N, O]."""
    cross_NO = left_NX @ right_OX.T
    squares_NO: Floats = (left_NX**2).sum(axis=1)[:, None] + (right_OX**2).sum(axis=1) - 2 * cross_NO
    return np.maximum(squares_NO, 0.0)


def _covariance(theta_P: Floats, seen: Observations, late_O: Floats) -> Floats:
    variances, lengths_X = np.exp(theta_P[:4]), np.exp(theta_P[4:])
    scaled_OX = seen.features_OX / lengths_X
    late_OO = _late_together(late_O)
    alike_OO = np.exp(-0.5 * _squares(scaled_OX, scaled_OX))
    same_OO = seen.candidate_O[:, None] == seen.candidate_O
    covariance_OO: Floats = alike_OO * (variances[_F] + variances[_H] * late_OO) + variances[_U] * same_OO
    covariance_OO += _SHIFT + _RUNG_SHIFT * late_OO
    np.fill_diagonal(covariance_OO, covariance_OO.diagonal() + variances[_NOISE] + _LEAST_NOISE)
    return covariance_OO


def negative_log_posterior(theta_P: Floats, seen: Observations) -> tuple[float, Floats]:
    """Minus the logarithm of the parameters' posterior density (up to a constant), and its gradient."""
    centre, scale = _standard(seen.value_O)
    value_O, late_O = (seen.value_O - centre) / scale, _lateness(seen.share_O)
    cholesky_OO = np.linalg.cholesky(_covariance(theta_P, seen, late_O))
    whitener_OO = np.linalg.inv(cholesky_OO)
    inverse_OO = whitener_OO.T @ whitener_OO
    weights_O = inverse_OO @ value_O
    slope_OO = inverse_OO - np.outer(weights_O, weights_O)
    miss_P = (theta_P - prior_parameters(len(theta_P) - 4)) / _prior_spread(len(theta_P) - 4)
    loss = 0.5 * float(value_O @ weights_O) + float(np.log(cholesky_OO.diagonal()).sum()) + 0.5 * float(miss_P @ miss_P)
    gradient_P = 0.5 * _traces(theta_P, seen, late_O, slope_OO) + miss_P / _prior_spread(len(theta_P) - 4)
    return loss, gradient_P


def _traces(theta_P: Floats, seen: Observations, late_O: Floats, slope_OO: Floats) -> Floats:
    """The trace of `slope_OO` times the covariance's derivative by each parameter."""
    variances, lengths_X = np.exp(theta_P[:4]), np.exp(theta_P[4:])
    scaled_OX, late_OO = seen.features_OX / lengths_X, _late_together(late_O)
    alike_OO = np.exp(-0.5 * _squares(scaled_OX, scaled_OX))
    weighted_OO = slope_OO * alike_OO
    same_OO = seen.candidate_O[:, None] == seen.candidate_O
    firsts = [
        variances[_F] * weighted_OO.sum(),
        variances[_H] * (weighted_OO * late_OO).sum(),
        variances[_U] * slope_OO[same_OO].sum(),
        variances[_NOISE] * np.trace(slope_OO),
    ]
    pulled_OO = weighted_OO * (variances[_F] + variances[_H] * late_OO)
    # Sum over pairs of pulled * (difference)^2, for each feature, without a [O, O, X] array.
    own_X = 2 * (pulled_OO.sum(axis=1) @ scaled_OX**2)
    between_X = 2 * np.einsum("ox,ox->x", scaled_OX, pulled_OO @ scaled_OX)
    return np.array([*firsts, *(own_X - between_X)])
