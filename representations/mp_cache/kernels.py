"""The compiled parts of MP-Cache: a static hash table, and a cache that admits every id it misses.

All compiled code of the package is in this file, so that numba's disk cache is never stale.
Shape suffixes: N accesses, E entries, D floats of an embedding, S slots of a hash table.
"""

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["LFU", "LRU", "admit", "build_table", "look_up", "new_state"]

LRU, LFU = 0, 1
# 2**64 over the golden ratio: the multiplier of Fibonacci hashing.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Under LFU a priority is a count and, below these bits, the time of the last access.
TIME_BITS = 40

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]
State = tuple[Ids, Ids, Ids, Ids, Ids, Ids, Ids, Ids]


@numba.njit(nogil=True, cache=True, boundscheck=False)
def _slot(item: int, slots: int) -> np.int64:
    """A slot of a table whose size is a power of two, at least 2."""
    bits = 0
    while (1 << bits) < slots:
        bits += 1
    return np.int64((np.uint64(item) * GOLDEN) >> np.uint64(64 - bits))


@numba.njit(nogil=True, cache=True, boundscheck=False)
def build_table(hot_E: Ids) -> Ids:
    """A table of open addresses from id to entry, at most half full; -1 where empty."""
    size = 2
    while size < 2 * hot_E.shape[0]:
        size *= 2
    table_S = np.full(size, -1, dtype=np.int64)
    for entry in range(hot_E.shape[0]):
        slot = _slot(hot_E[entry], size)
        while table_S[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table_S[slot] = entry
    return table_S


@numba.njit(nogil=True, cache=True, boundscheck=False)
def look_up(ids_N: Ids, hot_E: Ids, table_S: Ids, rows_ED: Floats, out_ND: Floats) -> Ids:
    """Copy the row of every id that has an entry; the places of the others."""
    missed_N = np.empty(ids_N.shape[0], dtype=np.int64)
    mask = table_S.shape[0] - 1
    bits = 0
    while (1 << bits) <= mask:
        bits += 1
    down = np.uint64(64 - bits)
    missed = 0
    for i in range(ids_N.shape[0]):
        slot = np.int64((np.uint64(ids_N[i]) * GOLDEN) >> down)
        while table_S[slot] >= 0 and hot_E[table_S[slot]] != ids_N[i]:
            slot = (slot + 1) & mask
        entry = table_S[slot]
        if entry < 0:
            missed_N[missed] = i
            missed += 1
        else:
            for d in range(rows_ED.shape[1]):
                out_ND[i, d] = rows_ED[entry, d]
    return missed_N[:missed]


@numba.njit(nogil=True, cache=True, boundscheck=False)
def new_state(entries: int) -> State:
    """An empty cache: ids, priorities, a heap of entries and each one's place in it, chains by hash, used and clock.

    Entries of one hash form a chain from `heads` through `links`; the heap's first entry is the next to be evicted.
    """
    size = 2
    while size < 2 * entries:
        size *= 2
    heads = np.full(size, -1, dtype=np.int64)
    links = np.full(entries, -1, dtype=np.int64)
    ids, priorities = np.zeros(entries, dtype=np.int64), np.zeros(entries, dtype=np.int64)
    heap, places = np.zeros(entries, dtype=np.int64), np.zeros(entries, dtype=np.int64)
    return ids, priorities, heap, places, heads, links, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)


@numba.njit(nogil=True, cache=True, boundscheck=False)
def _sink(place: int, used: int, heap: Ids, places: Ids, priorities: Ids) -> None:
    """Move an entry whose priority grew down the heap."""
    entry = heap[place]
    while True:
        child = 2 * place + 1
        if child >= used:
            break
        if child + 1 < used and priorities[heap[child + 1]] < priorities[heap[child]]:
            child += 1
        if priorities[heap[child]] >= priorities[entry]:
            break
        heap[place] = heap[child]
        places[heap[place]] = place
        place = child
    heap[place] = entry
    places[entry] = place


@numba.njit(nogil=True, cache=True, boundscheck=False)
def _rise(place: int, heap: Ids, places: Ids, priorities: Ids) -> None:
    """Move a new entry up the heap."""
    entry = heap[place]
    while place > 0 and priorities[heap[(place - 1) // 2]] > priorities[entry]:
        heap[place] = heap[(place - 1) // 2]
        places[heap[place]] = place
        place = (place - 1) // 2
    heap[place] = entry
    places[entry] = place


@numba.njit(nogil=True, cache=True, boundscheck=False)
def _evict(heads: Ids, links: Ids, heap: Ids, ids: Ids) -> int:
    """Unlink the entry of least priority from its chain."""
    victim = int(heap[0])
    slot = _slot(ids[victim], heads.shape[0])
    if heads[slot] == victim:
        heads[slot] = links[victim]
    else:
        before = heads[slot]
        while links[before] != victim:
            before = links[before]
        links[before] = links[victim]
    return victim


@numba.njit(nogil=True, cache=True, boundscheck=False)
def admit(ids_N: Ids, policy: int, state: State) -> tuple[Ids, Ids, Ids]:
    """Access ids in order; each miss takes an entry, that of the least recently or least frequently used id.

    Returns the source of each access [N] (an entry whose row is of before the call, or the number of entries plus the
    place of a miss), and for every miss its id and the entry it took, some of which a later miss took again.
    """
    ids, priorities, heap, places, heads, links, used, clock = state
    entries = ids.shape[0]
    source_N, missed_N, taken_N = np.empty_like(ids_N), np.empty_like(ids_N), np.empty_like(ids_N)
    pending = np.full(entries, -1, dtype=np.int64)
    missed = 0
    for i in range(ids_N.shape[0]):
        clock[0] += 1
        slot = _slot(ids_N[i], heads.shape[0])
        entry = heads[slot]
        while entry >= 0 and ids[entry] != ids_N[i]:
            entry = links[entry]
        if entry >= 0:
            count = (priorities[entry] >> TIME_BITS) + 1
            priorities[entry] = (count << TIME_BITS) + clock[0] if policy == LFU else clock[0]
            _sink(places[entry], used[0], heap, places, priorities)
            source_N[i] = entry if pending[entry] < 0 else entries + pending[entry]
            continue
        is_full = used[0] == entries
        if is_full:
            entry = _evict(heads, links, heap, ids)
        else:
            entry = used[0]
            used[0] += 1
        ids[entry] = ids_N[i]
        links[entry] = heads[slot]
        heads[slot] = entry
        priorities[entry] = (1 << TIME_BITS) + clock[0] if policy == LFU else clock[0]
        if is_full:
            _sink(0, entries, heap, places, priorities)
        else:
            heap[entry] = entry
            _rise(entry, heap, places, priorities)
        pending[entry] = missed
        missed_N[missed], taken_N[missed] = ids_N[i], entry
        source_N[i] = entries + missed
        missed += 1
    return source_N, missed_N[:missed], taken_N[:missed]
