"""How long a whole training of each candidate would take, learned from those that were begun.

Suffixes: N candidates, X features, B begun ones.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["predicted_seconds"]

Floats = NDArray[np.float64]
_RIDGE = 1.0


def predicted_seconds(features_NX: Floats, begun_N: NDArray[np.bool_], seconds_N: Floats, share_N: Floats) -> Floats:
    """[N]: seconds of a whole training, by ridge regression of their logarithm on features of spread 1.

    `seconds_N` were spent on `share_N` of a training where `begun_N`; one each where nothing was begun.
    """
    known_N = begun_N & (seconds_N > 0) & (share_N > 0)
    if not known_N.any():
        return np.ones(len(features_NX))
    whole_B = np.log(seconds_N[known_N] / share_N[known_N])
    known_BX = features_NX[known_N]
    mean, mean_X = float(whole_B.mean()), known_BX.mean(axis=0)
    centred_BX = known_BX - mean_X
    square_XX = centred_BX.T @ centred_BX + _RIDGE * np.eye(features_NX.shape[1])
    slope_X = np.linalg.solve(square_XX, centred_BX.T @ (whole_B - mean))
    low, high = whole_B.min() - 1, whole_B.max() + 1
    predicted: Floats = np.exp(np.clip(mean + (features_NX - mean_X) @ slope_X, low, high))
    return predicted
