"""What stands in for training while candidates are screened.

Array suffixes: N candidates, X numbers that describe a candidate.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["AccuracyModel", "Floats"]

Floats = NDArray[np.float64]


class AccuracyModel(Protocol):
    """Called with as many candidates as are screened at once, so it should take microseconds for each."""

    def predict(self, features_NX: Floats, /) -> tuple[Floats, Floats]:
        """The mean and the standard deviation of what training would give each, both [N], where less is better.

        `features_NX` are what the `describe` beside this model gave.
        """
        ...
