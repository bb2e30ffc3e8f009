"""How large queries are, and the mean that their sizes have once whole and clipped to [1, maximum].

The lognormal's `mu` is solved for, so that the mean after rounding and clipping is the asked one; only without spread
(`sigma` 0) it is the rounded one. A trace's sizes are rescaled to the asked mean before they are rounded and clipped.
"""

import math

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels.draws import lognormal_mean
from serving_sim.plan import Sizes, Workload
from serving_sim.size_table import lognormal_table
from serving_sim.traces import load_trace

__all__ = ["SizeStream", "lognormal_mu", "mean_load_size", "mean_size", "rounded", "traced_sizes"]


class SizeStream:
    """An endless stream of sizes; a trace starts at `rotation` of its length.

    Raises:
        InputError: a trace that cannot be read, or has no sizes.
    """

    def __init__(self, sizes: Sizes, rng: np.random.Generator, rotation: float) -> None:
        self._sizes, self._rng, self._drawn = sizes, rng, 0
        self._trace = traced_sizes(sizes) if sizes.distribution == "trace" else None
        self._start = 0 if self._trace is None else int(rotation * len(self._trace))
        is_table = sizes.distribution == "lognormal" and sizes.sigma > 0
        self._table = lognormal_table(lognormal_mu(sizes), sizes.sigma, sizes.maximum) if is_table else None
        self._values = np.array(sizes.values, dtype=np.float64)
        self._steps = np.cumsum(_shares(sizes))[:-1] if sizes.values else np.empty(0)

    def next(self, count: int) -> NDArray[np.int64]:
        """The next `count` sizes."""
        sizes = self._sizes
        if self._table is not None:
            return self._table.draw(self._rng, count)
        if self._trace is not None:
            first = self._start + self._drawn
            size_N = self._trace[np.arange(first, first + count) % len(self._trace)]
        elif sizes.values:
            size_N = self._values[np.searchsorted(self._steps, self._rng.random(count), side="right")]
        else:
            size_N = np.full(count, rounded(np.array(sizes.mean), sizes.maximum))
        self._drawn += count
        return size_N.astype(np.int64)


def mean_load_size(load: Workload) -> float:
    """Mean samples per query over all classes of a load; errors as `mean_size`."""
    shares = [one.share for one in load.classes] or [1.0]
    return math.fsum(share * mean_size(sizes) for share, sizes in zip(shares, load.class_sizes(), strict=True))


def mean_size(sizes: Sizes) -> float:
    """Mean samples per query, as drawn.

    Raises:
        InputError: a trace that cannot be read, or has no sizes.
    """
    if sizes.distribution == "trace":
        return float(traced_sizes(sizes).mean())
    if sizes.values:
        return float(_shares(sizes) @ np.array(sizes.values, dtype=np.float64))
    if sizes.distribution == "fixed" or sizes.sigma == 0:
        return float(rounded(np.array([sizes.mean]), sizes.maximum)[0])
    return lognormal_mean(lognormal_mu(sizes), sizes.sigma, sizes.maximum)


def lognormal_mu(sizes: Sizes) -> float:
    """The `mu` at which lognormal sizes, rounded and clipped, have the asked mean."""
    if sizes.sigma == 0:
        return math.log(sizes.mean)
    # Beyond ten sigmas of either clip all sizes are 1, or all are the maximum.
    low, high = -10 * sizes.sigma - 1, math.log(sizes.maximum) + 10 * sizes.sigma + 1
    while high - low > 1e-12 * max(1.0, abs(low), abs(high)):
        middle = (low + high) / 2
        low, high = (middle, high) if lognormal_mean(middle, sizes.sigma, sizes.maximum) < sizes.mean else (low, middle)
    return high


def traced_sizes(sizes: Sizes) -> NDArray[np.float64]:
    """A trace's sizes, in its order, rescaled to the asked mean, whole and clipped."""
    traced = load_trace(sizes.source).column("size")
    return rounded(traced * (sizes.mean / traced.mean()), sizes.maximum)


def rounded(sizes: NDArray[np.float64], maximum: int) -> NDArray[np.float64]:
    """Whole sizes between 1 and the maximum."""
    return np.clip(np.rint(sizes), 1, maximum)


def _shares(sizes: Sizes) -> NDArray[np.float64]:
    """How likely each of the values is."""
    weights = np.array(sizes.weights or (1.0,) * len(sizes.values))
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
