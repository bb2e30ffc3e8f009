"""The load of a run, drawn in chunks: unit-rate gaps, sizes, service factors.

Each quantity has its own child seed, by name, and gaps are drawn at rate 1 and scaled by the kernel. So a change of
QPS, policy or devices leaves every draw as it was (common random numbers), and chunks of any
size give the same queries.

Shape suffixes: N queries of a chunk, K spreads.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from serving_sim.kernels import Chunk
from serving_sim.paths import Spread
from serving_sim.plan import Arrivals, Workload
from serving_sim.sizes import lognormal_mu, rounded, traced_sizes
from serving_sim.traces import load_trace

__all__ = ["WorkloadStream", "empty_chunk"]

Floats = NDArray[np.float64]
# The place of a name is its child seed: append only.
_CHILD_SEEDS = ("arrivals", "sizes", "normal", "exponential", "rotation")


class WorkloadStream:
    """An endless stream of queries for one seed; `fill` draws the next ones into a chunk.

    A trace starts at a place that the seed chooses and goes round; arrivals and sizes from one source stay in step.

    Raises:
        InputError: a trace that cannot be read, or lacks what is wanted of it.
    """

    def __init__(self, workload: Workload, spreads: Sequence[Spread], seed: int) -> None:
        self._arrivals, self._sizes, self._spreads = workload.arrivals, workload.sizes, tuple(spreads)
        self._generators = {name: _generator(seed, name) for name in _CHILD_SEEDS}
        self._drawn = 0
        self._gap_trace = _gap_trace(workload.arrivals)
        self._size_trace = traced_sizes(self._sizes) if self._sizes.distribution == "trace" else None
        self._mu = lognormal_mu(self._sizes) if self._sizes.distribution == "lognormal" else 0.0
        self._rotation = float(self._generators["rotation"].random())

    def fill(self, chunk: Chunk, count: int) -> None:
        """Draw the next `count` queries into the chunk's gaps, sizes and factors."""
        self._fill_gaps(chunk.gap_N[:count])
        self._fill_sizes(chunk.size_N[:count])
        self._fill_factors(chunk.factor_KN[:, :count])
        self._drawn += count

    def _fill_gaps(self, gap_N: Floats) -> None:
        if self._gap_trace is not None:
            gap_N[:] = self._turn(self._gap_trace, len(gap_N))
        elif self._arrivals.process == "gamma":
            variance = self._arrivals.cv**2
            self._generators["arrivals"].standard_gamma(1 / variance, out=gap_N)
            gap_N *= variance
        else:
            self._generators["arrivals"].standard_exponential(out=gap_N)

    def _fill_sizes(self, size_N: NDArray[np.int64]) -> None:
        sizes = self._sizes
        if self._size_trace is not None:
            size_N[:] = self._turn(self._size_trace, len(size_N))
        elif sizes.distribution == "fixed":
            size_N[:] = round(sizes.mean)
        else:
            drawn_N = self._generators["sizes"].standard_normal(len(size_N))
            drawn_N *= sizes.sigma
            drawn_N += self._mu
            # Clipped before the exponential, so that a wide sigma cannot overflow.
            np.minimum(drawn_N, np.log(sizes.maximum), out=drawn_N)
            np.exp(drawn_N, out=drawn_N)
            size_N[:] = rounded(drawn_N, sizes.maximum)

    def _fill_factors(self, factor_KN: Floats) -> None:
        count = factor_KN.shape[1]
        kinds = {spread.kind for spread in self._spreads}
        normal_N = self._generators["normal"].standard_normal(count) if "lognormal" in kinds else None
        exponential_N = self._generators["exponential"].standard_exponential(count) if "exponential" in kinds else None
        for row, spread in enumerate(self._spreads):
            if spread.kind == "lognormal" and normal_N is not None:
                factor_KN[row] = np.exp(spread.sigma * normal_N - spread.sigma**2 / 2)
            elif spread.kind == "exponential" and exponential_N is not None:
                factor_KN[row] = exponential_N
            else:
                factor_KN[row] = 1.0

    def _turn(self, values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        start = int(self._rotation * len(values)) + self._drawn
        return values[np.arange(start, start + count) % len(values)]


def empty_chunk(queries: int, spreads: int) -> Chunk:
    """Room for that many queries under that many spreads."""
    return Chunk(
        gap_N=np.empty(queries),
        size_N=np.empty(queries, dtype=np.int64),
        class_N=np.zeros(queries, dtype=np.int64),
        factor_KN=np.empty((spreads, queries)),
        arrival_ms_N=np.empty(queries),
        start_ms_N=np.empty(queries),
        service_ms_N=np.empty(queries),
        latency_ms_N=np.empty(queries),
        path_N=np.empty(queries, dtype=np.int64),
    )


def _generator(seed: int, name: str) -> np.random.Generator:
    if seed < 0:
        raise InputError(f"seed: must be >= 0, but got {seed}")
    sequence = np.random.SeedSequence(seed, spawn_key=(_CHILD_SEEDS.index(name),))
    return np.random.Generator(np.random.SFC64(sequence))


def _gap_trace(arrivals: Arrivals) -> Floats | None:
    """Gaps of mean 1. Going round, the last query is followed by the first after the mean gap."""
    if arrivals.process != "trace":
        return None
    times = load_trace(arrivals.source).column("arrival_s")
    if len(times) < 2:
        raise InputError(f"{arrivals.source}: must have at least two arrivals, but has {len(times)}")
    gaps = np.diff(times, prepend=times[0] - (times[-1] - times[0]) / (len(times) - 1))
    unit_gaps: Floats = gaps / gaps.mean()
    return unit_gaps
