"""What misses of a cache cost: how many lookups of a query miss, and its service time then.

Every lookup of a query (one per sample and feature) hits or misses by itself, so that the number of misses is binomial
in `samples x features`; a query neither hits nor misses as a whole. Routing sees the service at the expected share of
misses, the query takes that of its own.

Shape suffixes: S sizes (0..maximum), M shares of the table, N queries.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["MissEffect", "Misses", "draw_miss_share"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Misses:
    """How lookups miss: independently, with probability `1 - hit_rate`; `features` lookups per sample."""

    cache: str
    features: int
    hit_rate: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MissEffect:
    """A path's service time over size and share of misses, linear between the shares and the same beyond them."""

    misses: Misses
    shares_M: Floats
    service_ms_SM: Floats
    expected_ms_S: Floats

    def factors(self, size_N: NDArray[np.int64], miss_share_N: Floats) -> Floats:
        """Service time of each query over what routing expected of its size."""
        place_N = np.clip(np.searchsorted(self.shares_M, miss_share_N, side="right") - 1, 0, len(self.shares_M) - 1)
        above_N = np.minimum(place_N + 1, len(self.shares_M) - 1)
        span_N = self.shares_M[above_N] - self.shares_M[place_N]
        way_N = np.where(span_N > 0, (miss_share_N - self.shares_M[place_N]) / np.where(span_N > 0, span_N, 1.0), 0.0)
        way_N = np.clip(way_N, 0.0, 1.0)
        low_ms_N, high_ms_N = self.service_ms_SM[size_N, place_N], self.service_ms_SM[size_N, above_N]
        factors: Floats = (low_ms_N + way_N * (high_ms_N - low_ms_N)) / self.expected_ms_S[size_N]
        return factors


def draw_miss_share(misses: Misses, size_N: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """The share of each query's lookups that miss."""
    lookups_N = size_N * misses.features
    share: Floats = rng.binomial(lookups_N, 1 - misses.hit_rate) / lookups_N
    return share
