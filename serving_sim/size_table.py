"""Lognormal sizes, rounded and clipped, drawn by inverting their distribution.

A draw takes one random word of 64 bits, whose order is that of the sizes: with another mean or sigma, the same word
gives the size of the same rank. That is exact to the precision of float64, and several times as fast as rounding the
exponentials of normals.

Shape suffixes: N queries, S sizes (0..maximum), G slots of the guide and one more.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels.draws import Words, fill_lognormal_tail, look_up_sizes

__all__ = ["SizeTable", "lognormal_table"]

# Slots of the guide: 64 KiB of it, so that it stays in a fast cache.
_SLOT_BITS = 14
_SHIFT = 64 - _SLOT_BITS


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SizeTable:
    """How likely a size is exceeded, in units of 2^-64, and the largest size of each slot of random words."""

    above_S: Words
    last_G: NDArray[np.int32]

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """That many sizes, from as many words of the generator."""
        size_N = np.empty(count, dtype=np.int64)
        look_up_sizes(rng.bit_generator.random_raw(count), self.above_S, self.last_G, _SHIFT, size_N)
        return size_N


def lognormal_table(mu: float, sigma: float, maximum: int) -> SizeTable:
    """The table of sizes round(X), at least 1 and at most the maximum, where log X has mean `mu` and spread `sigma`."""
    above_S = np.empty(maximum + 1, dtype=np.uint64)
    fill_lognormal_tail(mu, sigma, above_S)
    first_word_G = np.arange(2**_SLOT_BITS, dtype=np.uint64) << np.uint64(_SHIFT)
    # From the largest size down to 1, what is above grows.
    reached_G = np.searchsorted(above_S[:0:-1], first_word_G, side="right")
    return SizeTable(above_S=above_S, last_G=np.append(maximum - reached_G + 1, 1).astype(np.int32))
