"""The candidates that no other candidate beats."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError

__all__ = ["non_dominated"]

_BLOCK = 256


def non_dominated(costs_NM: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of N points with M costs (less is better) no other point dominates; equal points stand or fall together.

    A point dominates another if it is no worse in every cost and better in at least one.
    """
    costs_NM = np.asarray(costs_NM, dtype=np.float64)
    if costs_NM.ndim != 2:
        raise InputError(f"costs: must be a table of points by objectives, but got shape {costs_NM.shape}")
    if np.isnan(costs_NM).any():
        raise InputError("costs: must not hold NaN, which can be neither better nor worse")
    keep_N = np.ones(len(costs_NM), dtype=bool)
    for start in range(0, len(costs_NM), _BLOCK):
        block_B1M = costs_NM[start : start + _BLOCK, None, :]
        beaten_BN = np.all(costs_NM <= block_B1M, axis=2) & np.any(costs_NM < block_B1M, axis=2)
        keep_N[start : start + _BLOCK] = ~beaten_BN.any(axis=1)
    return keep_N
