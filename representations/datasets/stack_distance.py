"""Stack distances of an access log (Mattson et al., 1970), and logs generated with the same ones.

The distance of an access is the number of distinct other ids since the last access to its own; an LRU cache of C
entries hits exactly where it is below C. A generated log with the same distances has the same hit rate in every LRU
cache, whatever its ids; DLRM's trace generator (Naumov et al., arXiv 1906.00091, section 5) rests on this too.
"""

import heapq
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError

__all__ = ["FIRST_ACCESS", "StackProfile", "stack_distances", "stack_profile", "trace_like"]

# The distance of an access to an id that was not accessed before.
FIRST_ACCESS = -1

Ids = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class StackProfile:
    """How often each distance occurs: `distances_D` ascending, with `counts_D`; `first_accesses` have none."""

    distances_D: Ids
    counts_D: Ids
    first_accesses: int

    def __post_init__(self) -> None:
        if self.first_accesses < 1:
            raise InputError(f"stack profile: first_accesses must be >= 1, but got {self.first_accesses}")

    @property
    def accesses(self) -> int:
        """All accesses of the log."""
        return int(self.counts_D.sum()) + self.first_accesses

    def hit_rate(self, entries: int) -> float:
        """The share of accesses that hit in an LRU cache of so many entries."""
        hits = self.counts_D[: np.searchsorted(self.distances_D, entries)].sum()
        return float(hits / self.accesses)


def stack_distances(ids_N: Ids) -> Ids:
    """The distance of every access, [N]; `FIRST_ACCESS` where the id is new. O(N log N).

    Raises:
        InputError: ids that are no list of integers. An empty log has no distances.
    """
    ids_N = np.asarray(ids_N)
    if not ids_N.size:
        return np.empty(0, dtype=np.int64)
    if ids_N.ndim != 1 or ids_N.dtype.kind not in "iu":
        raise InputError(f"access log: must be one list of integers, but got {ids_N.dtype} of shape {ids_N.shape}")
    _, dense_N = np.unique(ids_N, return_inverse=True)
    return _distances(dense_N.astype(np.int64))


def stack_profile(ids_N: Ids) -> StackProfile:
    """The profile of a log.

    Raises:
        InputError: the log is empty.
    """
    if not len(ids_N):
        raise InputError("stack profile: the access log is empty")
    distances_N = stack_distances(ids_N)
    again_N = distances_N != FIRST_ACCESS
    distances_D, counts_D = np.unique(distances_N[again_N], return_counts=True)
    return StackProfile(
        distances_D=distances_D, counts_D=counts_D.astype(np.int64), first_accesses=int((~again_N).sum())
    )


def trace_like(profile: StackProfile, accesses: int, rng: np.random.Generator) -> Ids:
    """A log of so many accesses, [N], whose distances occur as often as in `profile`; ids are 0, 1, 2, ...

    With `profile.accesses` of them every LRU hit rate is the profile's own, but for distances that no place in the log
    is deep enough for (a share of about 1 / accesses). Other lengths draw the distances evenly from the profile.
    That holds for LRU caches alone: how often each id occurs is not kept, so that LFU and static caches differ.
    This is for LRU alone: how often each id is accessed is not kept, so that the hit rates of LFU and static caches are
    others.

    Raises:
        InputError: fewer than one access.
    """
    if accesses < 1:
        raise InputError(f"trace: accesses must be >= 1, but got {accesses}")
    drawn_N = _drawn(profile, accesses, rng)
    return _replay(_possible_order(drawn_N), accesses)


def _drawn(profile: StackProfile, accesses: int, rng: np.random.Generator) -> Ids:
    """Systematic sampling: each distance its expected number of times, up to one; in random order."""
    distances_D = np.concatenate(([FIRST_ACCESS], profile.distances_D))
    counts_D = np.concatenate(([profile.first_accesses], profile.counts_D))
    places_N = (np.arange(accesses) + rng.random()) / accesses * profile.accesses
    drawn_N = distances_D[np.searchsorted(np.cumsum(counts_D), places_N, side="right")]
    return rng.permutation(drawn_N)


def _possible_order(drawn_N: Ids) -> Ids:
    """The distances in an order in which each one is smaller than the number of ids before it.

    One that comes too early waits until enough ids are there; those left over at the end become first accesses.
    """
    order: list[int] = []
    waiting: list[int] = []
    known = 0
    for distance in drawn_N.tolist():
        if distance >= known:
            heapq.heappush(waiting, distance)
            continue
        known += distance == FIRST_ACCESS
        order.append(distance)
        while waiting and waiting[0] < known:
            order.append(heapq.heappop(waiting))
    order += [FIRST_ACCESS] * len(waiting)
    return np.array(order, dtype=np.int64)


@numba.njit(cache=True, nogil=True)
def _distances(ids_N: Ids) -> Ids:
    """A Fenwick tree over time holds 1 at the last access of every id."""
    count = len(ids_N)
    tree = np.zeros(count + 1, dtype=np.int64)
    last = np.full(ids_N.max() + 1, -1, dtype=np.int64)
    out = np.empty(count, dtype=np.int64)
    known = 0
    for now in range(count):
        item = ids_N[now]
        before = last[item]
        if before < 0:
            out[now] = -1
            known += 1
        else:
            older = 0
            place = before + 1
            while place > 0:
                older += tree[place]
                place -= place & -place
            out[now] = known - older
            place = before + 1
            while place <= count:
                tree[place] -= 1
                place += place & -place
        place = now + 1
        while place <= count:
            tree[place] += 1
            place += place & -place
        last[item] = now
    return out


@numba.njit(cache=True, nogil=True)
def _replay(distances_N: Ids, count: int) -> Ids:
    """The ids that have these distances; the same tree, searched for the (known - distance)-th oldest last access."""
    tree = np.zeros(count + 1, dtype=np.int64)
    item_at = np.empty(count, dtype=np.int64)
    top = 1
    while 2 * top <= count:
        top *= 2
    out = np.empty(count, dtype=np.int64)
    known = 0
    for now in range(count):
        if distances_N[now] < 0:
            item = known
            known += 1
        else:
            wanted = known - distances_N[now]
            place, step = 0, top
            while step:
                if place + step <= count and tree[place + step] < wanted:
                    place += step
                    wanted -= tree[place]
                step //= 2
            item = item_at[place]
            place += 1
            while place <= count:
                tree[place] -= 1
                place += place & -place
        out[now] = item
        item_at[now] = item
        place = now + 1
        while place <= count:
            tree[place] += 1
            place += place & -place
    return out
