"""Fast memory as an LRU cache over a slower tier: which share of the accesses finds its row there.

An id that is asked for again within the cache's *characteristic time* T hits. T is where the ids met within it fill the
cache: the sum of footprint(T) over all that share it. Where ids are drawn independently by Zipf's law this is Che's
approximation (Che, Tung and Wang, JSAC 2002); with the times between accesses of a real log it is the average eviction
time of Hu et al. (USENIX ATC 2016), exact as far as a log looks alike throughout. Nothing is replayed: both need one
pass, or a sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from representations.zipf import expected_distinct

__all__ = ["CachedStream", "IdReuse", "LoggedReuse", "ZipfReuse", "cache_hit_rates", "lru_hit_rate"]

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
_BISECTIONS = 60
_STEP = 1e-3


class IdReuse(Protocol):
    """How soon ids are asked for again; times are numbers of accesses to the same table."""

    def footprint(self, accesses: float) -> float:
        """How many different ids so many successive accesses meet on average."""

    def miss_rate(self, accesses: float) -> float:
        """The share of accesses whose id was not among so many accesses before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ZipfReuse:
    """Ids drawn one independent of the other, of `rows`, by Zipf's law; exponent 0 draws them evenly."""

    rows: int
    exponent: float

    def footprint(self, accesses: float) -> float:
        """As `IdReuse` says."""
        return _distinct(self.rows, self.exponent, accesses)

    def miss_rate(self, accesses: float) -> float:
        """The slope of the footprint."""
        step = max(1.0, accesses * _STEP)
        gained = self.footprint(accesses + step / 2) - self.footprint(max(0.0, accesses - step / 2))
        return gained / (step / 2 + min(accesses, step / 2))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LoggedReuse:
    """The times since the last access to the same id, as a log has them: `counts_K` of each of the ascending `times_K`.

    `first_accesses` have none. `from_log` reads them off.
    """

    times_K: Ids
    counts_K: Ids
    first_accesses: int
    # The share of accesses that come back later than each edge (0, then the times), and the footprint there.
    _edges_K: Floats = field(init=False, repr=False)
    _misses_K: Floats = field(init=False, repr=False)
    _footprints_K: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        accesses = int(self.counts_K.sum()) + self.first_accesses
        if accesses < 1 or self.times_K.shape != self.counts_K.shape:
            raise InputError(f"reuse times: must count at least one access, a count for each, but got {self}")
        misses_K = 1.0 - np.concatenate(([0], np.cumsum(self.counts_K))) / accesses
        edges_K = np.concatenate(([0], self.times_K)).astype(np.float64)
        footprints_K = np.concatenate(([0.0], np.cumsum(np.diff(edges_K) * misses_K[:-1])))
        for name, values in (("_edges_K", edges_K), ("_misses_K", misses_K), ("_footprints_K", footprints_K)):
            object.__setattr__(self, name, values)

    @classmethod
    def from_log(cls, ids_N: Ids, *, skip: int = 0) -> "LoggedReuse":
        """The reuse times of a log [N]; those of the first `skip` accesses are not counted, but begin later times.

        Raises:
            InputError: nothing is left to count, or ids that are no list of integers.
        """
        if ids_N.ndim != 1 or ids_N.dtype.kind not in "iu" or not 0 <= skip < len(ids_N):
            raise InputError(
                f"access log: must be a list of more than {skip} integers, but got {ids_N.dtype} of shape "
                f"{list(ids_N.shape)}"
            )
        order_N = np.argsort(ids_N, kind="stable")
        is_again_N = np.zeros(len(ids_N), dtype=bool)
        is_again_N[order_N[1:]] = ids_N[order_N[1:]] == ids_N[order_N[:-1]]
        times_N = np.zeros(len(ids_N), dtype=np.int64)
        times_N[order_N[1:]] = order_N[1:] - order_N[:-1]
        again_N = is_again_N[skip:]
        times_K, counts_K = np.unique(times_N[skip:][again_N], return_counts=True)
        return cls(
            times_K=times_K,
            counts_K=counts_K.astype(np.int64),
            first_accesses=int(again_N.size - again_N.sum()),
        )

    def footprint(self, accesses: float) -> float:
        """As `IdReuse` says: the sum over shorter times of the share that is still to come back."""
        place = int(np.searchsorted(self._edges_K, accesses, side="right")) - 1
        return float(self._footprints_K[place] + (accesses - self._edges_K[place]) * self._misses_K[place])

    def miss_rate(self, accesses: float) -> float:
        """As `IdReuse` says."""
        return float(self._misses_K[int(np.searchsorted(self._edges_K, accesses, side="right")) - 1])


@dataclass(frozen=True, kw_only=True, slots=True)
class CachedStream:
    """The accesses to one table that go through a cache: `rate` of them in the unit of time that all streams share.

    A cache of one part of a table, drawn without regard to how hot its rows are, has `share` of its rows and accesses;
    `rate` is that of the whole table.
    """

    reuse: IdReuse
    row_bytes: float
    rate: float = 1.0
    share: float = 1.0

    def __post_init__(self) -> None:
        if not (self.row_bytes > 0 and self.rate > 0 and 0 < self.share <= 1):
            raise InputError(
                "cached stream: row_bytes and rate must be > 0 and share in (0, 1], but got "
                f"{self.row_bytes}, {self.rate} and {self.share}"
            )

    def held_bytes(self, time: float) -> float:
        """What its ids of the last `time` take."""
        return self.share * self.row_bytes * self.reuse.footprint(time * self.rate)


def lru_hit_rate(reuse: IdReuse, entries: int) -> float:
    """The share of accesses that hit in an LRU cache of so many rows.

    Raises:
        InputError: no entry.
    """
    if entries < 1:
        raise InputError(f"cache: entries must be >= 1, but got {entries}")
    return cache_hit_rates((CachedStream(reuse=reuse, row_bytes=1.0),), float(entries))[0]


def cache_hit_rates(streams: Sequence[CachedStream], capacity_bytes: float) -> tuple[float, ...]:
    """The hit rate of each stream in one LRU cache that all share; 0 where it holds nothing.

    A cache that could hold everything still misses what is new: for a stream by Zipf's law nothing in the long run, for
    a log its first accesses.

    Raises:
        InputError: a capacity that is negative or not finite.
    """
    if not 0 <= capacity_bytes < float("inf"):
        raise InputError(f"cache: capacity_bytes must be finite and >= 0, but got {capacity_bytes}")
    if capacity_bytes == 0 or not streams:
        return (0.0,) * len(streams)
    time = _characteristic_time(streams, capacity_bytes)
    return tuple(1.0 - stream.reuse.miss_rate(time * stream.rate) for stream in streams)


def _characteristic_time(streams: Sequence[CachedStream], capacity_bytes: float) -> float:
    def held(time: float) -> float:
        return sum(stream.held_bytes(time) for stream in streams)

    low, high = 0.0, 1.0 / max(stream.rate for stream in streams)
    for _ in range(_BISECTIONS):
        if held(high) >= capacity_bytes:
            break
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if held(middle) < capacity_bytes else (low, middle)
        if high - low <= 1e-6 * high:
            break
    return low


@lru_cache(maxsize=1 << 16)
def _distinct(rows: int, exponent: float, accesses: float) -> float:
    return expected_distinct(rows, exponent, accesses) if accesses > 0 else 0.0
