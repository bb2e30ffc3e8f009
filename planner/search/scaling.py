"""Features of any scale as columns of mean 0 and spread 1, each of which says something of its own.

Suffixes: N candidates, X features as they come, S scaled ones.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scaling"]

Floats = NDArray[np.float64]
# Two columns of a higher correlation say the same.
_ALIKE = 0.98


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Scaling:
    """Which of the columns are kept, [S], and their centres and spreads."""

    kept_S: NDArray[np.intp]
    centre_S: Floats
    spread_S: Floats

    @classmethod
    def of(cls, features_NX: Floats) -> Self:
        """That of these candidates: constant columns and those that nearly repeat an earlier one are left out."""
        spread_X = features_NX.std(axis=0)
        varying_V = np.flatnonzero(spread_X > 1e-9 * np.maximum(1.0, np.abs(features_NX).max(axis=0, initial=0.0)))
        scaled_NV = (features_NX[:, varying_V] - features_NX[:, varying_V].mean(axis=0)) / spread_X[varying_V]
        alike_VV = np.abs(scaled_NV.T @ scaled_NV) / max(len(features_NX), 1)
        kept: list[int] = []
        for column in range(len(varying_V)):
            if not kept or alike_VV[column, kept].max() < _ALIKE:
                kept.append(column)
        kept_S = varying_V[kept]
        return cls(kept_S=kept_S, centre_S=features_NX[:, kept_S].mean(axis=0), spread_S=spread_X[kept_S])

    def apply(self, features_NX: Floats) -> Floats:
        """[N, S]: these candidates in that scale; one column of zeros where nothing varies."""
        if not len(self.kept_S):
            return np.zeros((len(features_NX), 1))
        scaled: Floats = (features_NX[:, self.kept_S] - self.centre_S) / self.spread_S
        return scaled
