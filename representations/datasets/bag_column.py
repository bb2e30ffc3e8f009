"""One multi-hot feature of a data set: a bag of ids for each sample.

Shape suffixes: N samples, L ids of all bags, R wanted rows.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from representations.ids import check_bags
from representations.specs import Feature

__all__ = ["BagColumn"]

Ids = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class BagColumn:
    """The bag of sample n is `ids_L` from `offsets_N[n]` to where the next one begins, and holds at least one id.

    Raises:
        InputError: an id beyond the feature's range or an empty bag, with feature, row and value; offsets that do not
            rise from 0.
    """

    feature: Feature
    ids_L: Ids
    offsets_N: Ids

    def __post_init__(self) -> None:
        check_bags(self.ids_L, self.offsets_N, self.feature)

    def __len__(self) -> int:
        return len(self.offsets_N)

    def bags_at(self, rows: Ids | slice) -> tuple[Ids, Ids]:
        """The ids of these rows' bags, one after another, and where each bag begins [R]."""
        begins_R = self.offsets_N[rows]
        lengths_R = np.append(self.offsets_N[1:], len(self.ids_L))[rows] - begins_R
        offsets_R = np.cumsum(lengths_R) - lengths_R
        places = np.repeat(begins_R - offsets_R, lengths_R) + np.arange(lengths_R.sum())
        return self.ids_L[places], offsets_R

    def take(self, rows: Ids | slice) -> "BagColumn":
        """The same feature of these rows only."""
        ids, offsets_R = self.bags_at(rows)
        return replace(self, ids_L=ids, offsets_N=offsets_R)
