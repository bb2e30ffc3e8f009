"""The load of a run, drawn in chunks: unit-rate gaps, classes, sizes, service factors.

Each quantity has its own child seed, by name, and gaps are drawn at rate 1 and scaled by the kernel. So a change of
QPS, policy or devices leaves every draw as it was (common random numbers), and chunks of any
size give the same queries.

Shape suffixes: N queries of a chunk, K spreads, C classes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from serving_sim.arrivals import GapStream, GapTimer
from serving_sim.kernels import Chunk
from serving_sim.misses import Misses, draw_miss_share
from serving_sim.paths import Spread
from serving_sim.plan import Workload
from serving_sim.rates import is_steady
from serving_sim.sizes import SizeStream

__all__ = ["WorkloadStream", "at_rate", "empty_chunk", "failure_keys"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# The place of a name is its child seed: append only.
_CHILD_SEEDS = ("arrivals", "sizes", "normal", "exponential", "rotation", "bursts", "classes", "misses", "failures")
# What a spread is drawn from.
_DRAWN = {"lognormal": "normal", "exponential": "exponential"}


class WorkloadStream:
    """An endless stream of queries for one seed; `fill` draws the next ones into a chunk.

    A trace starts at a place that the seed chooses and goes round; arrivals and sizes from one source stay in step.
    With `timed` false, gaps stay as drawn: `at_rate` makes them those of any QPS.

    Raises:
        InputError: a trace that cannot be read, or lacks what is wanted of it.
    """

    def __init__(self, workload: Workload, spreads: Sequence[Spread], seed: int, *, timed: bool = True) -> None:
        self._spreads = tuple(spreads)
        self._classes = _generator(seed, "classes")
        # The draws of all paths keep the seed that they had before shards had their own.
        self._draws = {
            (spread.kind, spread.draw): _generator(seed, _DRAWN[spread.kind], *((spread.draw,) if spread.draw else ()))
            for spread in self._spreads
            if spread.kind in _DRAWN
        }
        rotation = float(_generator(seed, "rotation").random())
        self._gaps = GapStream(workload.arrivals, _generator(seed, "arrivals"), rotation)
        self._timer = _gap_timer(workload, seed) if timed else None
        sizes = workload.class_sizes()
        # One class has the seed that a load without classes has.
        own = [_generator(seed, "sizes", *((place,) if len(sizes) > 1 else ())) for place in range(len(sizes))]
        self._sizes = [SizeStream(one, rng, rotation) for one, rng in zip(sizes, own, strict=True)]
        self._steps_C = np.cumsum([one.share for one in workload.classes])[:-1]
        self._misses = tuple(dict.fromkeys(spread.effect.misses for spread in self._spreads if spread.effect))
        self._miss_rngs = [_generator(seed, "misses", place) for place in range(len(self._misses))]

    def fill(self, chunk: Chunk, count: int) -> None:
        """Draw the next `count` queries into the chunk's gaps, classes, sizes and factors."""
        gap_N = chunk.gap_N[:count]
        self._gaps.fill(gap_N)
        if self._timer is not None:
            self._timer.stretch(gap_N)
        self._fill_sizes(chunk.class_N[:count], chunk.size_N[:count])
        self._fill_factors(chunk.size_N[:count], chunk.factor_KN[:, :count])

    def _fill_sizes(self, class_N: Ints, size_N: Ints) -> None:
        if len(self._sizes) == 1:
            class_N[:] = 0
            size_N[:] = self._sizes[0].next(len(size_N))
            return
        class_N[:] = np.searchsorted(self._steps_C, self._classes.random(len(size_N)), side="right")
        for place, sizes in enumerate(self._sizes):
            is_own_N = class_N == place
            size_N[is_own_N] = sizes.next(int(is_own_N.sum()))

    def _fill_factors(self, size_N: Ints, factor_KN: Floats) -> None:
        count = len(size_N)
        drawn = {
            key: rng.standard_normal(count) if key[0] == "lognormal" else rng.standard_exponential(count)
            for key, rng in self._draws.items()
        }
        shares = self._miss_shares(size_N)
        for row, spread in enumerate(self._spreads):
            if spread.kind == "lognormal":
                factor_KN[row] = np.exp(spread.sigma * drawn[spread.kind, spread.draw] - spread.sigma**2 / 2)
            elif spread.kind == "exponential":
                factor_KN[row] = drawn[spread.kind, spread.draw]
            else:
                factor_KN[row] = 1.0
            if spread.effect is not None:
                factor_KN[row] *= spread.effect.factors(size_N, shares[spread.effect.misses])

    def _miss_shares(self, size_N: Ints) -> dict[Misses, Floats]:
        """The share of each query's lookups that miss, per cache: the same for every path that looks into it."""
        return {
            misses: draw_miss_share(misses, size_N, rng)
            for misses, rng in zip(self._misses, self._miss_rngs, strict=True)
        }


def at_rate(chunk: Chunk, workload: Workload, seed: int) -> Chunk:
    """A chunk of a stream's first queries, drawn with `timed` false, with their gaps at the workload's QPS."""
    if is_steady(workload.arrivals):
        return chunk
    gap_N = chunk.gap_N.copy()
    _gap_timer(workload, seed).stretch(gap_N)
    return chunk._replace(gap_N=gap_N)


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


def failure_keys(seed: int, devices: int) -> NDArray[np.uint64]:
    """A key for each device, from which the failures of its servers are drawn."""
    sequences = [_sequence(seed, "failures", place) for place in range(devices)]
    return np.array([sequence.generate_state(1, np.uint64)[0] for sequence in sequences], dtype=np.uint64)


def _gap_timer(workload: Workload, seed: int) -> GapTimer:
    return GapTimer(workload.arrivals, workload.qps, _generator(seed, "bursts"))


def _generator(seed: int, name: str, *place: int) -> np.random.Generator:
    if seed < 0:
        raise InputError(f"seed: must be >= 0, but got {seed}")
    return np.random.Generator(np.random.SFC64(_sequence(seed, name, *place)))


def _sequence(seed: int, name: str, *place: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(_CHILD_SEEDS.index(name), *place))
