"""Largest differencing (Karmarkar and Karp, 1982) over many ranks, for units whose items may lie anywhere.

Each unit starts as a vector of loads over unnamed ranks, what is placed already as another; the two vectors that differ
most within themselves are added, the heavy ranks of one to the light ranks of the other, until one vector is left.
Siblings stay on different ranks all the while. Memory is not looked at: `balance` repairs it.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.distributed.search.assignment import Assignment
from planner.distributed.search.packing import movable_units, packing_order
from planner.distributed.search.places import find_places
from planner.distributed.search.problem import Problem

__all__ = ["largest_differencing"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Sum:
    """Two vectors added: slot s of the sum holds slot `left_P[s]` of the one and `right_P[s]` of the other."""

    left: "_Sum | int"
    right: "_Sum | int"
    left_P: Integers
    right_P: Integers


def largest_differencing(problem: Problem, option_U: Integers) -> Assignment | None:
    """All units placed with these options, perhaps above the memory of ranks; None where pinned ones find no place."""
    state = Assignment(problem)
    is_free_U = movable_units(problem, option_U)
    for unit in packing_order(problem, option_U, "time").tolist():
        if not is_free_U[unit]:
            places = find_places(state, unit, int(option_U[unit]))
            if places is None:
                return None
            state.put(unit, int(option_U[unit]), places)
    free = np.flatnonzero(is_free_U)
    rank_P = np.argsort(-state.load_P, kind="stable")
    vectors = [state.load_P[rank_P], *(_padded(problem, int(option_U[unit])) for unit in free)]
    slots = _slots_of(_differenced(vectors), len(vectors), problem.ranks)
    rank_of_slot = rank_P[slots[0]]
    counts = problem.options.count_OG[option_U[free]].sum(axis=1).tolist()
    landed = [rank_of_slot[np.argsort(slot_P)[:count]] for slot_P, count in zip(slots[1:], counts, strict=True)]
    state.put_ranks(free.tolist(), option_U[free], landed)
    return state


def _padded(problem: Problem, option: int) -> Floats:
    vector = np.zeros(problem.ranks)
    items = problem.item_ms(option)
    vector[: len(items)] = items
    return vector


def _differenced(vectors: list[Floats]) -> _Sum | int:
    """How the vectors, each in falling order, are added up."""
    heap = [(float(vector[-1] - vector[0]), index) for index, vector in enumerate(vectors)]
    heapq.heapify(heap)
    nodes: list[_Sum | int] = list(range(len(vectors)))
    sums = list(vectors)
    while len(heap) > 1:
        _, one = heapq.heappop(heap)
        _, other = heapq.heappop(heap)
        total_P = sums[one] + sums[other][::-1]
        order_P = np.argsort(-total_P, kind="stable")
        total_P = total_P[order_P]
        nodes.append(_Sum(nodes[one], nodes[other], order_P, len(total_P) - 1 - order_P))
        sums.append(total_P)
        sums[one] = sums[other] = total_P
        heapq.heappush(heap, (float(total_P[-1] - total_P[0]), len(nodes) - 1))
    return nodes[heap[0][1]]


def _slots_of(root: _Sum | int, vectors: int, ranks: int) -> list[Integers]:
    """For each vector the slot of it that every slot of the root [P] holds."""
    slots = [np.arange(ranks)] * vectors
    stack: list[tuple[_Sum | int, Integers]] = [(root, np.arange(ranks))]
    while stack:
        node, slot_P = stack.pop()
        if isinstance(node, int):
            slots[node] = slot_P
        else:
            stack.append((node.left, node.left_P[slot_P]))
            stack.append((node.right, node.right_P[slot_P]))
    return slots
