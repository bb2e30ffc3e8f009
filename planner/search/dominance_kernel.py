"""The compiled loop of `dominance`.

Shape suffixes: N points, M costs.
"""

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["keep_undominated"]


@numba.njit(cache=True)
def keep_undominated(costs_NM: NDArray[np.float64], kept_N: NDArray[np.bool_]) -> None:
    """Mark the points that none before them dominates; they come in lexicographic order, so none after them does.

    Members are tried in the order in which they last beat a point, since few beat most.
    """
    count, costs = costs_NM.shape
    members = np.empty(count, dtype=np.int64)
    size = 0
    for n in range(count):
        beaten_by = -1
        for i in range(size):
            member = members[i]
            is_less = False
            is_more = False
            for m in range(costs):
                if costs_NM[member, m] > costs_NM[n, m]:
                    is_more = True
                    break
                if costs_NM[member, m] < costs_NM[n, m]:
                    is_less = True
            if is_less and not is_more:
                beaten_by = i
                break
        if beaten_by < 0:
            kept_N[n] = True
            members[size] = n
            size += 1
        elif beaten_by > 0:
            half = beaten_by // 2
            members[beaten_by], members[half] = members[half], members[beaten_by]
