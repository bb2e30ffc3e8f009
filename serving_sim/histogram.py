"""The log histogram of latencies and percentiles from it or from exact values.

Percentiles are nearest-rank: the smallest latency that at least that share of queries does not exceed.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels import BINS, BINS_PER_OCTAVE, LOWEST_OCTAVE, pick_bins

__all__ = ["PERCENTILES", "RELATIVE_ERROR", "bin_edges_ms", "exact_percentiles", "histogram_percentiles", "rank"]

PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
# Half the widest bin, over its middle.
RELATIVE_ERROR = 0.5 / BINS_PER_OCTAVE


@cache
def bin_edges_ms() -> NDArray[np.float64]:
    """The BINS + 1 edges, not to be written: 128 even bins in each octave, from 2^-20 ms on."""
    octaves, places = np.divmod(np.arange(BINS + 1), BINS_PER_OCTAVE)
    edges: NDArray[np.float64] = np.exp2(octaves + float(LOWEST_OCTAVE)) * (1 + places / BINS_PER_OCTAVE)
    edges.setflags(write=False)
    return edges


def rank(percentile: float, count: int) -> int:
    """Zero-based rank of a percentile among `count` values."""
    # The rounding guards against 99.9 / 100 * 1000 = 999.0000000000001.
    return max(math.ceil(round(percentile / 100 * count, 6)) - 1, 0)


def exact_percentiles(
    values_ms: NDArray[np.float64], counts_B: NDArray[np.int64], percentiles: tuple[float, ...]
) -> tuple[float, ...]:
    """Percentiles (ms) of all the values, of which there must be one; `counts_B` is their histogram.

    Only the bins that hold a percentile are sorted.
    """
    ranks, below_B = [rank(percentile, len(values_ms)) for percentile in percentiles], np.cumsum(counts_B)
    bins = np.searchsorted(below_B, ranks, side="right")
    is_wanted_B = np.zeros(BINS, dtype=np.bool_)
    is_wanted_B[bins] = True
    picked_ms = np.empty(int(counts_B[is_wanted_B].sum()))
    pick_bins(values_ms, is_wanted_B, picked_ms)
    left_out_B = np.cumsum(np.where(is_wanted_B, 0, counts_B))
    places = [place - int(left_out_B[bin_]) for place, bin_ in zip(ranks, bins, strict=True)]
    ordered = np.partition(picked_ms, sorted(set(places)))
    return tuple(float(ordered[place]) for place in places)


def histogram_percentiles(counts_B: NDArray[np.int64], percentiles: tuple[float, ...]) -> tuple[float, ...]:
    """Percentiles (ms) as the middle of their bin: within `RELATIVE_ERROR` of the exact ones."""
    edges, below = bin_edges_ms(), np.cumsum(counts_B)
    bins = [int(np.searchsorted(below, rank(percentile, int(below[-1])), side="right")) for percentile in percentiles]
    return tuple(float(edges[place] + edges[place + 1]) / 2 for place in bins)
