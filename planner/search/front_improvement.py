"""By how much a candidate is expected to raise the accuracy that can be had, wherever there is something to choose.

A hypervolume asks little of crowded corners, and everything of wide empty ones. Here the costs of each candidate are
taken as a budget: training one candidate raises what can be had within every budget that it fits, and a budget counts
as much as it is likely that its own candidate belongs on the front. So cheap and dear ends of a front are sought alike,
whatever the scales of the costs.

Suffixes: N candidates (each a budget too), P members of the front, K known costs, L levels.
"""

import numpy as np
from numpy.typing import NDArray

from planner.search.expected_improvement import expected_improvement

__all__ = ["expected_front_improvement"]

Floats = NDArray[np.float64]


def expected_front_improvement(
    mean_N: Floats, std_N: Floats, known_NK: Floats, front_P: Floats, front_known_PK: Floats, worst: float
) -> Floats:
    """[N]: the expected gain of each candidate summed over budgets; less is better in every cost.

    `mean_N` and `std_N` are of the uncertain cost, of which the front's members have the values `front_P`; where none
    fits a budget, `worst` is what can be had.
    """
    from scipy.special import ndtr

    fits_PN = (front_known_PK[:, None, :] <= known_NK).all(axis=2)
    reached_N = np.min(np.where(fits_PN, front_P[:, None], worst), axis=0, initial=worst)
    weight_N = ndtr((reached_N - mean_N) / np.maximum(std_N, 1e-12))
    level_L, which_N = np.unique(reached_N, return_inverse=True)
    weight_NL = np.zeros((len(mean_N), len(level_L)))
    weight_NL[np.arange(len(mean_N)), which_N.reshape(-1)] = weight_N
    cheaper_NN = (known_NK[:, None, :] <= known_NK).all(axis=2).astype(np.float64)
    gain_N: Floats = ((cheaper_NN @ weight_NL) * expected_improvement(level_L, mean_N, std_N)).sum(axis=1)
    return gain_N
