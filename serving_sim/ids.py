"""Which ids lookups ask for, and what follows from it: hit rates of caches, and how many rows are touched.

- A static cache of N entries holds the N most frequent ids: it hits as often as these are asked for. Those of a log are
  chosen on its first half and judged on its second.
- A cache of the last used ids hits, by Che's approximation (Che, Tung and Wang, 2002; Fricker, Robert and Roberts,
  2012), a share `1 - exp(-p T)` of the requests for an id of probability p, with T such that it is full:
  `sum of 1 - exp(-p T) = N`. For a log its own stack distances say it exactly, first accesses being misses.

Shape suffixes: B blocks of ids alike, N accesses.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profiles.edge import shown
from profiles.errors import InputError
from serving_sim.plan import Cache, HitCurve, Ids

__all__ = ["distinct_rows", "hit_rate", "require_log"]

Floats = NDArray[np.float64]

# Ranks up to here stand alone, those above in blocks that widen by the same factor.
_ALONE, _BLOCKS = 2**16, 4096


def require_log(ids: Ids) -> None:
    """`InputError` where the ids are those of a log that is not there, whether or not anything looks into it."""
    if ids.kind != "log":
        return
    from representations.datasets.access_log import SCARAB

    if ids.source != SCARAB and not Path(ids.source).is_file():
        raise InputError(
            f"workload.ids.source: must be {SCARAB!r} or a log file, but there is no file {shown(ids.source)}"
        )


@lru_cache(maxsize=128)
def hit_rate(cache: Cache, ids: Ids) -> float:
    """The expected share of lookups that hit: from the cache's curve where it has one, else from the ids.

    Raises:
        InputError: a log that cannot be read or is empty.
    """
    entries = cache.entries_per_feature
    if cache.hit_rate is not None:
        return _on_curve(cache.hit_rate, entries)
    if entries == 0:
        return 0.0
    if ids.kind == "log":
        return _log_hit_rate(ids.source, entries, cache.policy)
    probability_B, width_B = _popularity(ids)
    if entries >= ids.rows:
        return 1.0
    if cache.policy == "static":
        below_B = np.concatenate(([0.0], np.cumsum(width_B)))
        share_B = np.concatenate(([0.0], np.cumsum(probability_B * width_B)))
        return float(np.interp(entries, below_B, share_B))
    return _che(probability_B, width_B, entries)


def distinct_rows(ids: Ids, lookups: float) -> float:
    """How many different ids so many lookups touch on average; of a log, by windows of that length of it.

    Raises:
        InputError: a log that cannot be read or is empty, or a negative number of lookups.
    """
    if not lookups >= 0:
        raise InputError(f"lookups: must be >= 0, but got {lookups}")
    if ids.kind == "log":
        log_N = _log(ids.source)
        window = max(1, min(round(lookups), len(log_N)))
        starts = range(0, len(log_N) - window + 1, max(window, len(log_N) // 64))
        return float(np.mean([len(np.unique(log_N[start : start + window])) for start in starts]))
    probability_B, width_B = _popularity(ids)
    missed_B = np.exp(lookups * np.log1p(-np.minimum(probability_B, 1 - 1e-15)))
    return float(np.sum((1 - missed_B) * width_B))


def _on_curve(curve: HitCurve, entries: int) -> float:
    return float(np.interp(entries, (0, *curve.entries), (0.0, *curve.rates)))


def _popularity(ids: Ids) -> tuple[Floats, Floats]:
    """Probability of an id, and how many ids have it, the most frequent first."""
    if ids.kind == "uniform":
        return np.array([1 / ids.rows]), np.array([float(ids.rows)])
    alone = min(_ALONE, ids.rows)
    rank_B, width_B = np.arange(1.0, alone + 1), np.ones(alone)
    if ids.rows > alone:
        edges = np.unique(np.rint(np.geomspace(alone, ids.rows, _BLOCKS + 1)))
        rank_B = np.concatenate((rank_B, np.sqrt((edges[:-1] + 0.5) * (edges[1:] + 0.5))))
        width_B = np.concatenate((width_B, np.diff(edges)))
    weight_B = rank_B**-ids.exponent
    probability_B: Floats = weight_B / np.sum(weight_B * width_B)
    return probability_B, width_B


def _che(probability_B: Floats, width_B: Floats, entries: int) -> float:
    def filled(time: float) -> float:
        return float(np.sum(-np.expm1(-probability_B * time) * width_B))

    low, high = 0.0, float(entries)
    while filled(high) < entries:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if filled(middle) < entries else (low, middle)
    return float(np.sum(-np.expm1(-probability_B * high) * probability_B * width_B))


def _log_hit_rate(source: str, entries: int, policy: str) -> float:
    log_N = _log(source)
    if policy == "lru":
        from representations.datasets.stack_distance import stack_profile

        return stack_profile(log_N).hit_rate(entries)
    from representations.mp_cache.policies import hit_rate as replayed_hit_rate

    half = len(log_N) // 2
    return replayed_hit_rate(log_N[half:], entries, "static", earlier_N=log_N[:half])


@lru_cache(maxsize=2)
def _log(source: str) -> NDArray[np.int64]:
    from representations.datasets.access_log import load_access_log

    log_N = load_access_log(source)
    if len(log_N) < 2:
        raise InputError(f"workload.ids.source: {source} must hold at least two accesses, but holds {len(log_N)}")
    return log_N
