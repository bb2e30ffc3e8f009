"""Longest processing time first, with capped memory: units in order of size, each to the least loaded ranks."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from planner.distributed.search.assignment import Assignment
from planner.distributed.search.options import ANYWHERE, EVERYWHERE, NODE
from planner.distributed.search.places import find_places, lightest_ranks
from planner.distributed.search.problem import Problem

__all__ = ["Order", "Stuck", "movable_units", "pack", "packing_order"]

Integers = NDArray[np.int64]
Order = Literal["time", "memory", "both"]


@dataclass(frozen=True, slots=True)
class Stuck:
    """The unit that found no place, and by how many bytes its items missed the best of them."""

    unit: int
    short_bytes: float


def pack(problem: Problem, option_U: Integers, order: Order = "time") -> Assignment | Stuck:
    """All units placed with these options; else where that ended."""
    state = Assignment(problem)
    ordered = packing_order(problem, option_U, order)
    # From the last unit on that is bound to nodes or pinned, a heap of ranks is enough.
    bound = np.flatnonzero(~movable_units(problem, option_U)[ordered])
    first = int(bound[-1]) + 1 if len(bound) else 0
    for unit in ordered[:first].tolist():
        places = find_places(state, unit, int(option_U[unit]))
        if places is None:
            return Stuck(unit, _short_bytes(state, unit, int(option_U[unit])))
        state.put(unit, int(option_U[unit]), places)
    movable = ordered[first:]
    places_of = lightest_ranks(state, option_U[movable])
    done = movable[: len(places_of)].tolist()
    state.put_ranks(done, option_U[done], places_of)
    if len(done) < len(movable):
        unit = int(movable[len(done)])
        return Stuck(unit, _short_bytes(state, unit, int(option_U[unit])))
    return state


def _short_bytes(state: Assignment, unit: int, option: int) -> float:
    """What the ranks and nodes with the most room lack for the option's items."""
    problem = state.problem
    items_IT = problem.item_bytes(option)
    kind = problem.options.kind_O[option]
    left_PT = problem.capacities.rank_T - state.bytes_PT
    left_HT = problem.capacities.node_T - state.node_bytes_HT
    if kind in {NODE, EVERYWHERE}:
        by_node = left_PT.reshape(problem.nodes, problem.devices, -1).min(axis=1) * problem.devices
        left_PT, items_IT = np.minimum(by_node, left_HT), items_IT * problem.devices
    else:
        allowed_P = problem.allowed(unit)
        left_PT = np.minimum(left_PT, np.repeat(left_HT, problem.devices, axis=0))
        left_PT = left_PT if allowed_P is None else left_PT[allowed_P]
    count = problem.nodes if kind == EVERYWHERE else len(items_IT)
    short = 0.0
    for tier in np.flatnonzero(items_IT.max(axis=0) > 0).tolist():
        most = np.sort(left_PT[:, tier])[::-1][:count]
        short += float(np.maximum(items_IT[:, tier].max() - most, 0.0).sum())
    return short


def packing_order(problem: Problem, option_U: Integers, order: Order) -> Integers:
    """Units [U]: what takes every rank, what may not lie everywhere, then the rest, each by size."""
    options = problem.options
    kind_U = options.kind_O[option_U]
    stage_U = np.where(kind_U == EVERYWHERE, 0, 2)
    if problem.allowed_UP is not None:
        stage_U[~np.all(problem.allowed_UP, axis=1) & (kind_U != EVERYWHERE)] = 1
    size_U = options.largest_O[option_U]
    fill_UT = options.bytes_OGT[option_U].max(axis=1) / np.maximum(_room(problem), 1.0)
    fill_U = fill_UT.max(axis=1)
    if order == "memory":
        size_U, fill_U = fill_U, size_U
    elif order == "both":
        size_U = np.maximum(size_U / max(float(size_U.max()), 1e-300), fill_U)
    return np.lexsort((np.arange(len(option_U)), -fill_U, -size_U, stage_U))


def movable_units(problem: Problem, option_U: Integers) -> NDArray[np.bool_]:
    """Which units [U] have items that take single ranks, whichever."""
    movable_U: NDArray[np.bool_] = problem.options.kind_O[option_U] == ANYWHERE
    return movable_U if problem.allowed_UP is None else movable_U & np.all(problem.allowed_UP, axis=1)


def _room(problem: Problem) -> NDArray[np.float64]:
    """A rank's share of each tier [T]."""
    capacities = problem.capacities
    return np.minimum(capacities.rank_T, capacities.node_T / problem.devices)
