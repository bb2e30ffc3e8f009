"""More ids of the kind that were seen, so that a larger batch does not only look up what a small one did."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["more_ids"]

Ids = NDArray[np.int64]


def more_ids(seen: Ids, count: int, low: int, high: int, rng: np.random.Generator) -> Ids:
    """`count` draws that carry on the sample `seen`, of ids from `low` to `high`.

    A Pitman-Yor process (Ann. Probab. 25, 1997) draws them: of n ids so far, K of them distinct, the next is a new one
    with probability d K / n, where d is the share of distinct ids seen once. For the first draw that is the estimate of
    Good and Turing; later ones find new ids ever more rarely, as in logs whose frequencies follow a power law. New ids
    are any that were not drawn; others come as often as they did.
    """
    distinct, times = np.unique(seen, return_counts=True)
    discount, sample, total = np.count_nonzero(times == 1) / len(distinct), seen, len(seen) + count
    while len(sample) < total:
        # In short steps, so that the share of new ids follows the sample as it grows.
        size = min(total - len(sample), max(1, len(sample) // 4))
        drawn = rng.choice(sample, size)
        is_new = rng.random(size) < discount * len(distinct) / len(sample)
        if len(distinct) <= high - low:
            drawn[is_new] = _unseen(distinct, int(np.count_nonzero(is_new)), low, high, rng)
        sample = np.concatenate([sample, drawn])
        distinct = np.unique(sample)
    return sample[len(seen) :]


def _unseen(known: Ids, count: int, low: int, high: int, rng: np.random.Generator) -> Ids:
    """Any ids but the known ones, which are sorted."""
    rank = rng.integers(high - low + 1 - len(known), size=count)
    # The id of that rank among those unseen: past every known one before which there are so few gaps.
    gaps = known - low - np.arange(len(known))
    return np.asarray(low + rank + np.searchsorted(gaps, rank, side="right"), dtype=np.int64)
