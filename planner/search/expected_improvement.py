"""By how much a candidate whose costs are known and whose accuracy is uncertain is expected to enlarge the hypervolume.

Only one value of a candidate is uncertain, so the expectation is no integral over several dimensions. The costs of the
front cut the known dimensions into cells, in each of which one level of the uncertain cost has been reached. There a
candidate gains its overlap with the cell times the expected improvement on that level, which has a closed form (Mockus
1978); the sum over the cells is exact.

Suffixes: N candidates, P members of the front, K known costs, C cells, L levels.
"""

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError

__all__ = ["expected_hypervolume_improvement", "expected_improvement"]

Floats = NDArray[np.float64]
_MOST_AT_ONCE = 2_000_000


def expected_improvement(level_L: Floats, mean_N: Floats, std_N: Floats) -> Floats:
    """[N, L]: the expectation of `max(0, level - y)` for a normal `y`; less is better."""
    from scipy.special import ndtr

    gain_NL = level_L - mean_N[:, None]
    std_N1 = np.maximum(std_N, 1e-300)[:, None]
    z_NL = np.clip(gain_NL / std_N1, -1e8, 1e8)
    density_NL = np.exp(-0.5 * np.minimum(z_NL**2, 1400.0)) / np.sqrt(2 * np.pi)
    improvement_NL: Floats = np.maximum(gain_NL * ndtr(z_NL) + std_N1 * density_NL, 0.0)
    return improvement_NL


def expected_hypervolume_improvement(
    mean_N: Floats, std_N: Floats, known_NK: Floats, front_P: Floats, front_known_PK: Floats, reference: Floats
) -> Floats:
    """[N]: the expected gain of each candidate over the front; less is better in every cost.

    `mean_N` and `std_N` are of the uncertain cost, of which the front's members have the values `front_P`;
    `reference`, [1 + K], bounds the uncertain cost first, then the known ones. Members beyond it count for nothing.

    Raises:
        InputError: shapes that do not belong together.
    """
    known = known_NK.shape[1]
    if front_known_PK.shape != (len(front_P), known) or reference.shape != (1 + known,):
        raise InputError(
            f"expected improvement: {known} known costs, but a front of {front_known_PK.shape} and a reference of "
            f"{reference.shape}"
        )
    inside_P = (front_P < reference[0]) & (front_known_PK < reference[1:]).all(axis=1)
    front_P, front_known_PK = front_P[inside_P], front_known_PK[inside_P]
    begins = [np.concatenate(([-np.inf], np.unique(front_known_PK[:, k]))) for k in range(known)]
    level_L, of_cell_C = _levels(front_P, front_known_PK, begins, float(reference[0]))
    order_C = np.argsort(of_cell_C, kind="stable")
    firsts_L = np.searchsorted(of_cell_C[order_C], np.arange(len(level_L)))
    gain_N = np.empty(len(mean_N))
    block = max(1, _MOST_AT_ONCE // max(len(of_cell_C), 1))
    for start in range(0, len(mean_N), block):
        rows = slice(start, start + block)
        overlap_NC = _overlaps(known_NK[rows], begins, reference[1:])
        overlap_NL = np.add.reduceat(overlap_NC[:, order_C], firsts_L, axis=1)
        gain_N[rows] = (overlap_NL * expected_improvement(level_L, mean_N[rows], std_N[rows])).sum(axis=1)
    return gain_N


def _levels(
    front_P: Floats, front_known_PK: Floats, begins: list[Floats], worst: float
) -> tuple[Floats, NDArray[np.intp]]:
    """The levels of the uncertain cost that were reached, and which of them in each cell, the last axis fastest."""
    level_C = np.full([len(begin) for begin in begins], worst)
    for value, known_K in zip(front_P, front_known_PK, strict=True):
        beyond = tuple(
            slice(int(np.searchsorted(begin, cost)), None) for begin, cost in zip(begins, known_K, strict=True)
        )
        level_C[beyond] = np.minimum(level_C[beyond], value)
    level_L, of_cell_C = np.unique(level_C.reshape(-1), return_inverse=True)
    return level_L, of_cell_C.reshape(-1)


def _overlaps(known_NK: Floats, begins: list[Floats], worst_K: Floats) -> Floats:
    """[N, C]: what each candidate's box, from its known costs to the worst, shares with each cell."""
    lengths = []
    for known_N, begin, worst in zip(known_NK.T, begins, worst_K.tolist(), strict=True):
        end = np.append(begin[1:], worst)
        lengths.append(np.clip(end - np.maximum(begin, known_N[:, None]), 0.0, None))
    product: Floats = reduce(
        lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), lengths, np.ones((len(known_NK), 1))
    )
    return product
