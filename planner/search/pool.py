"""The candidates that a search chooses from, as arrays.

Suffixes: N candidates, X features, M objectives, K of them known beforehand.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner.search.scaling import Scaling
from profiles.errors import InputError

__all__ = ["Pool"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Pool:
    """N candidates: what accuracy is learned from, and the objectives' values (less is better) as far as known.

    A column of `costs_NM` is NaN throughout where only training tells. `reference_M` bounds the hypervolume, and
    `ideal_M` is perfection in each objective: costs are measured between the two. `features_NX` may have any scale;
    columns that say nothing, or the same as another one, are left out of `scaled_NX`.

    Raises:
        InputError: no candidate, shapes that do not belong together, a column that is known for some candidates only,
            or a reference that is no worse than perfection.
    """

    features_NX: Floats
    costs_NM: Floats
    reference_M: Floats
    ideal_M: Floats
    scaled_NX: Floats = field(init=False)
    uncertain: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        count, objectives = self.costs_NM.shape
        if not count or len(self.features_NX) != count:
            raise InputError(f"pool: {count} candidates need as many rows of features, got {len(self.features_NX)}")
        if self.reference_M.shape != (objectives,) or self.ideal_M.shape != (objectives,):
            raise InputError(f"pool: {objectives} objectives need a reference and an ideal for each")
        if not (self.reference_M > self.ideal_M).all():
            raise InputError(
                f"pool: the reference {self.reference_M.tolist()} must be worse than {self.ideal_M.tolist()}"
            )
        missing_NM = np.isnan(self.costs_NM)
        if (missing_NM.any(axis=0) != missing_NM.all(axis=0)).any():
            raise InputError("pool: an objective must be known for all candidates or for none")
        object.__setattr__(self, "uncertain", tuple(np.flatnonzero(missing_NM[0]).tolist()))
        object.__setattr__(self, "scaled_NX", Scaling.of(self.features_NX).apply(self.features_NX))

    def __len__(self) -> int:
        return len(self.costs_NM)

    @property
    def known(self) -> tuple[int, ...]:
        """The objectives that are known before training."""
        return tuple(m for m in range(self.costs_NM.shape[1]) if m not in self.uncertain)

    def normalised(self, costs_NM: Floats, objectives: Sequence[int]) -> Floats:
        """Costs of these objectives with perfection at 0 and the reference at 1."""
        chosen = list(objectives)
        best_M, worst_M = self.ideal_M[chosen], self.reference_M[chosen]
        normalised: Floats = (costs_NM[:, chosen] - best_M) / (worst_M - best_M)
        return normalised
