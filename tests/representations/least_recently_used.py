"""An LRU cache as it is told, the reference of those that are fast."""

from collections import OrderedDict
from collections.abc import Iterable

__all__ = ["lru_hits"]


def lru_hits(ids: Iterable[int], entries: int) -> int:
    """How many of the accesses find their id in a cache of so many entries that begins empty."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for item in ids:
        hits += item in cache
        cache[item] = None
        cache.move_to_end(item)
        if len(cache) > entries:
            cache.popitem(last=False)
    return hits
