"""Which of very many points no other beats, in which order they stand, and how far apart they lie.

Less is better in every cost. Shape suffixes: N points, M costs.
"""

import numpy as np
from numpy.typing import NDArray

from planner.search.accuracy_model import Floats

__all__ = ["crowding_distances", "front_of", "non_domination_ranks"]

Index = NDArray[np.intp]


def front_of(costs_NM: Floats) -> Index:
    """The places of the points that no other point dominates, ascending; equal points stand or fall together.

    In lexicographic order a point can only be dominated by one before it, so one pass tells. Equal to
    `pareto.non_dominated`, in time that grows as N log N for up to three costs, and with N times the front for more.
    """
    from planner.search.dominance_kernel import keep_undominated, keep_undominated_of_three

    count, costs = costs_NM.shape
    kept_N = np.zeros(count, dtype=np.bool_)
    if costs > 3:
        order_N = np.lexsort(costs_NM.T[::-1])
        keep_undominated(np.ascontiguousarray(costs_NM[order_N], dtype=np.float64), kept_N)
    else:
        padded_NM = np.zeros((count, 3))
        padded_NM[:, :costs] = costs_NM
        order_N = np.lexsort(costs_NM.T[::-1])
        keep_undominated_of_three(padded_NM[order_N], kept_N)
    return np.sort(order_N[kept_N])


def non_domination_ranks(costs_NM: Floats, most: int | None = None) -> NDArray[np.int64]:
    """For each point 0 on the front, 1 on the front of the rest, and so on (Deb et al. 2002).

    With `most`, what is left once so many points have a rank is ranked last together.
    """
    rank_N = np.zeros(len(costs_NM), dtype=np.int64)
    left, rank = np.arange(len(costs_NM)), 0
    while len(left) and (most is None or len(costs_NM) - len(left) < most):
        front = front_of(costs_NM[left])
        rank_N[left[front]] = rank
        left, rank = np.delete(left, front), rank + 1
    rank_N[left] = rank
    return rank_N


def crowding_distances(costs_NM: Floats) -> Floats:
    """How far each point's neighbours in every cost lie from each other, in shares of the span; infinite at the ends.

    Source: Deb et al. 2002, doi 10.1109/4235.996017.
    """
    distance_N = np.zeros(len(costs_NM))
    for cost_N in costs_NM.T:
        order = np.argsort(cost_N, kind="stable")
        span = float(cost_N[order[-1]] - cost_N[order[0]]) if len(order) else 0.0
        if span > 0:
            distance_N[order[1:-1]] += (cost_N[order[2:]] - cost_N[order[:-2]]) / span
            distance_N[order[[0, -1]]] = np.inf
    return distance_N
