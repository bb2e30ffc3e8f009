"""Which ids a cache holds, and how often they are hit on a log of accesses.

Shape suffixes: N accesses, E entries.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError, UnknownNameError

__all__ = ["CachePolicy", "check_entries", "entries_of", "hit_rate", "hottest_ids"]

# `static` holds the hottest ids of an earlier log; `lru` and `lfu` admit every id that they miss.
CachePolicy = Literal["static", "lru", "lfu"]
_BYTES_PER_FLOAT = 4

Ids = NDArray[np.int64]


def entries_of(cache_bytes: int, dim: int) -> int:
    """How many float32 embeddings of `dim` so many bytes hold; the ids beside them do not count, as in the paper.

    Raises:
        InputError: not even one.
    """
    entries = cache_bytes // (dim * _BYTES_PER_FLOAT)
    if entries < 1:
        raise InputError(f"cache: {cache_bytes} bytes hold no embedding of {dim} floats")
    return entries


def hottest_ids(log_N: Ids, entries: int) -> Ids:
    """The most frequent ids of a log, at most `entries` of them, ascending; of equally frequent ones the smaller."""
    check_entries(entries)
    ids, counts = np.unique(log_N, return_counts=True)
    hottest: Ids = np.sort(ids[np.argsort(-counts, kind="stable")[:entries]])
    return hottest


def hit_rate(log_N: Ids, entries: int, policy: CachePolicy, *, earlier_N: Ids | None = None) -> float:
    """The share of a log's accesses that hit, by exact simulation.

    `lru` and `lfu` begin empty, or warmed by an `earlier_N` log; `static` holds the hottest ids of that log, and
    without one those of the log itself, which no cache without foresight can.

    Raises:
        InputError: an empty log, or no entry.
        UnknownNameError: an unknown policy.
    """
    check_entries(entries)
    if not len(log_N):
        raise InputError("hit rate: the access log is empty")
    if policy not in get_args(CachePolicy):
        raise UnknownNameError("cache policy", policy, get_args(CachePolicy))
    if policy == "static":
        hot_E = hottest_ids(log_N if earlier_N is None else earlier_N, entries)
        return float(np.isin(log_N, hot_E).mean())
    from representations.mp_cache.kernels import LFU, LRU, admit, new_state

    state, number = new_state(entries), LFU if policy == "lfu" else LRU
    if earlier_N is not None:
        admit(earlier_N, number, state)
    _, missed_N, _ = admit(log_N, number, state)
    return 1 - len(missed_N) / len(log_N)


def check_entries(entries: int) -> None:
    """Raises InputError unless a cache of so many entries can be."""
    if entries < 1:
        raise InputError(f"cache: entries must be >= 1, but got {entries}")
