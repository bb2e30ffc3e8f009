"""Whole numbers drawn by inverting their distribution, which is held as a table.

Shape suffixes: N queries, S sizes (0..maximum), G slots of the guide and one more.
"""

import math

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels.arrays import Ints
from serving_sim.kernels.compiled import compiled

__all__ = ["Words", "fill_lognormal_tail", "lognormal_mean", "look_up_sizes"]

Words = NDArray[np.uint64]

# The largest float below 2^64.
_MOST = 2.0**64 - 2.0**11


@compiled
def fill_lognormal_tail(mu: float, sigma: float, above_S: Words) -> None:
    """How likely a rounded lognormal is above each size, in units of 2^-64; nothing is above the last size."""
    above_S[:] = 0
    for size in range(above_S.size - 1):
        share = _share_above((math.log(size + 0.5) - mu) / sigma)
        above_S[size] = np.uint64(min(share * 2.0**64, _MOST))
        if share * 2.0**64 < 1.0:
            break


@compiled
def look_up_sizes(word_N: Words, above_S: Words, last_G: NDArray[np.int32], shift: int, size_N: Ints) -> None:
    """The least size with no more above it than the query's random word says.

    `last_G` is that size for the first word of each slot, of those that `word >> shift` sorts words into, and so the
    largest of its slot. Most slots hold one size.
    """
    for query in range(size_N.size):
        word = word_N[query]
        slot = np.int64(word >> np.uint64(shift))
        low, high = last_G[slot + 1], last_G[slot]
        while low < high:
            middle = (low + high) >> 1
            if word >= above_S[middle]:
                high = middle
            else:
                low = middle + 1
        size_N[query] = low


@compiled
def lognormal_mean(mu: float, sigma: float, maximum: int) -> float:
    """The mean of a lognormal, rounded and clipped to [1, maximum]: the sum over sizes of the share above each.

    round(X) exceeds k where X > k + 1/2. Sizes up to 128 are summed one by one, larger ones by an integral.
    """
    summed = min(maximum, 128)
    mean = 1.0
    for size in range(1, summed):
        mean += _share_above((math.log(size + 0.5) - mu) / sigma)
    if maximum > summed:
        mean += _mean_below(maximum, mu, sigma) - _mean_below(summed, mu, sigma)
    return mean


@compiled
def _mean_below(limit: int, mu: float, sigma: float) -> float:
    """E[min(X, limit)] of a lognormal X."""
    place = (math.log(limit) - mu) / sigma
    return math.exp(mu + sigma**2 / 2) * _share_above(sigma - place) + limit * _share_above(place)


@compiled
def _share_above(place: float) -> float:
    return math.erfc(place / math.sqrt(2.0)) / 2
