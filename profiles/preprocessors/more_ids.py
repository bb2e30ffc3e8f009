"""More ids of the kind that were seen, so that a larger batch does not only look up what a small one did."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["more_ids"]


def more_ids(seen: NDArray[np.int64], count: int, low: int, high: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`count` draws from what `seen` is a sample of.

    As many of them as Good and Turing estimate (ids seen once over ids seen) are ids that were not seen, evenly drawn
    from `low` to `high`; all others are drawn from those seen, as often as they were.
    """
    known, times = np.unique(seen, return_counts=True)
    unseen = high - low + 1 - len(known)
    drawn = rng.choice(seen, count)
    if unseen > 0:
        is_new = rng.random(count) < np.count_nonzero(times == 1) / len(seen)
        rank = rng.integers(unseen, size=np.count_nonzero(is_new))
        # The id of that rank among those unseen: past every known one before which there are so few gaps.
        gaps = known - low - np.arange(len(known))
        drawn[is_new] = low + rank + np.searchsorted(gaps, rank, side="right")
    return drawn
