"""Which ids a cache holds, and how often they are hit on a log of accesses.

Shape suffixes: N accesses, E entries.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError, UnknownNameError

__all__ = [
    "CachePolicy",
    "OnlinePolicy",
    "check_entries",
    "check_log",
    "check_online_policy",
    "check_policy",
    "entries_of",
    "hit_rate",
    "hottest_ids",
]

# `static` holds the hottest ids of an earlier log; `lru` and `lfu` admit every id that they miss.
CachePolicy = Literal["static", "lru", "lfu"]
OnlinePolicy = Literal["lru", "lfu"]
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
    """The most frequent ids of a log, at most `entries` of them, ascending; of equally frequent ones the smaller.

    Raises:
        InputError: no entry, an empty log, or one of no integers.
    """
    check_entries(entries)
    check_log(log_N)
    ids, counts = np.unique(log_N, return_counts=True)
    hottest: Ids = np.sort(ids[np.argsort(-counts, kind="stable")[:entries]]).astype(np.int64)
    return hottest


def hit_rate(log_N: Ids, entries: int, policy: CachePolicy, *, earlier_N: Ids | None = None) -> float:
    """The share of a log's accesses that hit, by exact simulation.

    `lru` and `lfu` begin empty, or warmed by an `earlier_N` log; `static` holds the hottest ids of that log, and
    without one those of the log itself, which no cache without foresight can.

    Raises:
        InputError: no entry, an empty log, or one of no integers.
        UnknownNameError: an unknown policy.
    """
    check_entries(entries)
    check_policy(policy)
    check_log(log_N)
    if earlier_N is not None:
        check_log(earlier_N)
    if policy == "static":
        hot_E = hottest_ids(log_N if earlier_N is None else earlier_N, entries)
        return float(np.isin(log_N, hot_E).mean())
    from representations.mp_cache.kernels import LFU, LRU, admit, new_state

    state, number = new_state(entries), LFU if policy == "lfu" else LRU
    if earlier_N is not None:
        admit(earlier_N, number, state)
    _, missed_N, _ = admit(log_N, number, state)
    return 1 - len(missed_N) / len(log_N)


def check_policy(policy: str) -> None:
    """Raises UnknownNameError unless there is such a policy."""
    if policy not in get_args(CachePolicy):
        raise UnknownNameError("cache policy", policy, get_args(CachePolicy))


def check_online_policy(policy: str) -> None:
    """Raises UnknownNameError unless there is such a policy that admits what it misses."""
    if policy not in get_args(OnlinePolicy):
        raise UnknownNameError("cache policy", policy, get_args(OnlinePolicy))


def check_log(log_N: Ids, where: str = "cache") -> None:
    """Raises InputError unless the log is one list of integers, and not empty."""
    if not len(log_N):
        raise InputError(f"{where}: the access log is empty")
    if log_N.ndim != 1 or log_N.dtype.kind not in "iu":
        raise InputError(
            f"{where}: the access log must be one list of integers, but got {log_N.dtype} of shape {list(log_N.shape)}"
        )


def check_entries(entries: int) -> None:
    """Raises InputError unless a cache of so many entries can be."""
    if entries < 1:
        raise InputError(f"cache: entries must be >= 1, but got {entries}")
