"""The compiled loops of `dominance`.

Points come in lexicographic order, so that none dominates one before it, and those that are equal stand together.

Shape suffixes: N points, M costs.
"""

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["keep_undominated", "keep_undominated_of_three"]


@numba.njit(cache=True)
def keep_undominated(costs_NM: NDArray[np.float64], kept_N: NDArray[np.bool_]) -> None:
    """Mark the points that none before them dominates, whatever the number of costs.

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


@numba.njit(cache=True)
def keep_undominated_of_three(costs_NM: NDArray[np.float64], kept_N: NDArray[np.bool_]) -> None:
    """The same for three costs, in time N log N: the front of the last two costs so far tells by one look at it.

    Source: H. Kung, F. Luccio and F. Preparata 1975, doi 10.1145/321906.321910.
    """
    count = len(costs_NM)
    # The second cost rises along the stairs, and the third falls.
    second, third = np.empty(count + 1), np.empty(count + 1)
    size = 0
    for n in range(count):
        y, z = costs_NM[n, 1], costs_NM[n, 2]
        if n and costs_NM[n - 1, 0] == costs_NM[n, 0] and costs_NM[n - 1, 1] == y and costs_NM[n - 1, 2] == z:
            kept_N[n] = kept_N[n - 1]
            continue
        begin = np.searchsorted(second[:size], y, side="right")
        if begin and third[begin - 1] <= z:
            continue
        kept_N[n] = True
        if begin and second[begin - 1] == y:
            begin -= 1
        end = begin
        while end < size and third[end] >= z:
            end += 1
        if end == begin:
            for i in range(size, begin, -1):
                second[i], third[i] = second[i - 1], third[i - 1]
            size += 1
        elif end > begin + 1:
            gone = end - begin - 1
            for i in range(begin + 1, size - gone):
                second[i], third[i] = second[i + gone], third[i + gone]
            size -= gone
        second[begin], third[begin] = y, z
