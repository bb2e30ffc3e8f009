"""When queries come: gaps in units of the mean gap, whose draws are the same at every rate.

Gaps are drawn with mean 1 first. A rate that changes over time then stretches them, which depends on the QPS, as its
bursts, spikes and days last as many seconds at any QPS.
"""

import math

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from serving_sim.plan import Arrivals
from serving_sim.rates import RateClock, is_steady
from serving_sim.traces import load_trace

__all__ = ["GapStream", "GapTimer", "weibull_shape"]

Floats = NDArray[np.float64]


class GapStream:
    """An endless stream of gaps of mean 1, before any change of rate; a trace starts at `rotation` of its length.

    Raises:
        InputError: a trace that cannot be read, or has fewer than two arrivals.
    """

    def __init__(self, arrivals: Arrivals, rng: np.random.Generator, rotation: float) -> None:
        self._process, self._rng, self._drawn = arrivals.process, rng, 0
        self._variance = arrivals.cv**2
        self._trace = _unit_gaps(arrivals.source) if arrivals.process == "trace" else None
        self._start = 0 if self._trace is None else int(rotation * len(self._trace))
        self._shape = weibull_shape(arrivals.cv) if arrivals.process == "weibull" else 1.0

    def fill(self, gap_N: Floats) -> None:
        """The next gaps."""
        if self._trace is not None:
            first = self._start + self._drawn
            gap_N[:] = self._trace[np.arange(first, first + len(gap_N)) % len(self._trace)]
        elif self._process == "gamma":
            self._rng.standard_gamma(1 / self._variance, out=gap_N)
            gap_N *= self._variance
        else:
            self._rng.standard_exponential(out=gap_N)
            if self._process == "weibull":
                np.power(gap_N, 1 / self._shape, out=gap_N)
                gap_N /= math.gamma(1 + 1 / self._shape)
        self._drawn += len(gap_N)


class GapTimer:
    """Stretches unit gaps by the rate's profile at a QPS; does nothing where the rate is steady."""

    def __init__(self, arrivals: Arrivals, qps: float, rng: np.random.Generator) -> None:
        self._qps = qps
        self._clock = None if is_steady(arrivals) else RateClock(arrivals, rng)
        self._work, self._time_s = 0.0, 0.0

    def stretch(self, gap_N: Floats) -> None:
        """Turn the next unit gaps, in place, into gaps (in units of 1 / QPS) between the times that they fall on."""
        if self._clock is None or not len(gap_N):
            return
        # The work so far goes into the sum, so that chunks of any size add up alike.
        gap_N[0] += self._work
        work_N = np.cumsum(gap_N)
        time_s_N = self._clock.times_s(work_N / self._qps)
        gap_N[:] = np.diff(time_s_N, prepend=self._time_s) * self._qps
        self._work, self._time_s = float(work_N[-1]), float(time_s_N[-1])


def weibull_shape(cv: float) -> float:
    """The shape k of a Weibull distribution of that coefficient of variation: Γ(1 + 2/k) / Γ(1 + 1/k)² = 1 + cv²."""
    low, high = 0.05, 1e4
    wanted = math.log1p(cv**2)
    while high > low * (1 + 1e-13):
        shape = math.sqrt(low * high)
        variation = math.lgamma(1 + 2 / shape) - 2 * math.lgamma(1 + 1 / shape)
        low, high = (shape, high) if variation > wanted else (low, shape)
    return low


def _unit_gaps(source: str) -> Floats:
    """A trace's gaps of mean 1. Going round, the last query is followed by the first after the mean gap."""
    times = load_trace(source).column("arrival_s")
    if len(times) < 2:
        raise InputError(f"{source}: must have at least two arrivals, but has {len(times)}")
    gaps = np.diff(times, prepend=times[0] - (times[-1] - times[0]) / (len(times) - 1))
    unit_gaps: Floats = gaps / gaps.mean()
    return unit_gaps
