"""Where the items of an option go best now: the least loaded ranks or nodes that have the memory for them."""

import heapq

import numpy as np
from numpy.typing import NDArray

from planner.distributed.search.assignment import Assignment
from planner.distributed.search.options import ANYWHERE, EVERYWHERE, NODE

__all__ = ["find_places", "lightest_ranks"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
_EVERYWHERE: Integers = np.zeros(0, dtype=np.int64)


def find_places(state: Assignment, unit: int, option: int) -> Integers | None:
    """Places for all items of the option, the larger ones on the less loaded ranks; None where they do not fit."""
    options = state.problem.options
    kind = options.kind_O[option]
    most_T = options.bytes_OGT[option].max(axis=0)
    if kind == EVERYWHERE:
        return _everywhere(state, most_T)
    count = int(options.count_OG[option].sum())
    allowed_P = state.problem.allowed(unit)
    if kind == NODE:
        return _nodes(state, count, most_T, allowed_P)
    if kind == ANYWHERE:
        return _ranks(state, option, count, most_T, allowed_P)
    return _ranks_of_a_node(state, count, most_T, allowed_P)


def lightest_ranks(state: Assignment, options: Integers) -> list[Integers]:
    """Places of one option after the other, whose items take single ranks, each where the load then is least.

    Ends with the option that finds no room. The state is left as it is.
    """
    table, problem = state.problem.options, state.problem
    heap = [(load, rank) for rank, load in enumerate(state.load_P.tolist())]
    heapq.heapify(heap)
    left_PT = (problem.capacities.rank_T - state.bytes_PT).tolist()
    left_HT = (problem.capacities.node_T - state.node_bytes_HT).tolist()
    counts, ms = table.count_OG[options].tolist(), table.ms_OG[options].tolist()
    bytes_of = table.bytes_OGT[options]
    tiers_of = (bytes_of.max(axis=1) > 0).tolist()
    bytes_of = bytes_of.tolist()
    chosen: list[Integers] = []
    for (large, small), item_ms, item_bytes, uses in zip(counts, ms, bytes_of, tiers_of, strict=True):
        taken: list[tuple[float, int]] = []
        aside: list[tuple[float, int]] = []
        tiers = [tier for tier, used in enumerate(uses) if used]
        for size in [0] * large + [1] * small:
            while heap:
                load, rank = heapq.heappop(heap)
                rank_left, node_left = left_PT[rank], left_HT[rank // problem.devices]
                needed = item_bytes[size]
                if all(needed[tier] <= rank_left[tier] and needed[tier] <= node_left[tier] for tier in tiers):
                    break
                aside.append((load, rank))
            else:
                return chosen
            for tier in tiers:
                rank_left[tier] -= needed[tier]
                node_left[tier] -= needed[tier]
            taken.append((load + item_ms[size], rank))
        for entry in (*aside, *taken):
            heapq.heappush(heap, entry)
        chosen.append(np.array([rank for _, rank in taken]))
    return chosen


def _everywhere(state: Assignment, bytes_T: Floats) -> Integers | None:
    capacities, devices = state.problem.capacities, state.problem.devices
    fits = (state.bytes_PT + bytes_T <= capacities.rank_T).all()
    fits = fits and (state.node_bytes_HT + devices * bytes_T <= capacities.node_T).all()
    return _EVERYWHERE if fits else None


def _nodes(state: Assignment, count: int, bytes_T: Floats, allowed_P: Booleans | None) -> Integers | None:
    problem = state.problem
    by_node = (problem.nodes, problem.devices)
    open_H: Booleans = np.all(_open_ranks(state, bytes_T, allowed_P).reshape(by_node), axis=1)
    open_H &= (state.node_bytes_HT + problem.devices * bytes_T <= problem.capacities.node_T).all(axis=1)
    return _lightest(state.load_P.reshape(by_node).max(axis=1), open_H, count)


def _ranks(state: Assignment, option: int, count: int, bytes_T: Floats, allowed_P: Booleans | None) -> Integers | None:
    problem = state.problem
    if allowed_P is None and count == 1:
        rank = int(state.load_P.argmin())
        node = rank // problem.devices
        fits = (state.bytes_PT[rank] + bytes_T <= problem.capacities.rank_T).all()
        if fits and (state.node_bytes_HT[node] + bytes_T <= problem.capacities.node_T).all():
            return np.array([rank])
    open_P = _open_ranks(state, bytes_T, allowed_P)
    places = _lightest(state.load_P, open_P, count)
    if places is None or count == 1 or not np.isfinite(problem.capacities.node_T[bytes_T > 0]).any():
        return places
    siblings_H = np.bincount(places // problem.devices, minlength=problem.nodes)
    if (state.node_bytes_HT + siblings_H[:, None] * bytes_T <= problem.capacities.node_T).all():
        return places
    return _ranks_of_shared_nodes(state, option, open_P)


def _ranks_of_shared_nodes(state: Assignment, option: int, open_P: Booleans) -> Integers | None:
    """One rank after the other, since siblings on one node share its memory."""
    problem = state.problem
    left_HT = problem.capacities.node_T - state.node_bytes_HT
    chosen: list[int] = []
    for bytes_T in problem.item_bytes(option):
        roomy_H = (left_HT >= bytes_T).all(axis=1)
        load_P = np.where(open_P & np.repeat(roomy_H, problem.devices), state.load_P, np.inf)
        rank = int(load_P.argmin())
        if np.isinf(load_P[rank]):
            return None
        chosen.append(rank)
        open_P[rank] = False
        left_HT[rank // problem.devices] -= bytes_T
    return np.array(chosen)


def _ranks_of_a_node(state: Assignment, count: int, bytes_T: Floats, allowed_P: Booleans | None) -> Integers | None:
    problem = state.problem
    open_P = _open_ranks(state, bytes_T, allowed_P)
    load_HL = np.where(open_P, state.load_P, np.inf).reshape(problem.nodes, problem.devices)
    order_HL = np.argsort(load_HL, axis=1, kind="stable")
    last_H = np.take_along_axis(load_HL, order_HL[:, count - 1 : count], axis=1)[:, 0]
    roomy_H = (state.node_bytes_HT + count * bytes_T <= problem.capacities.node_T).all(axis=1)
    last_H = np.where(roomy_H, last_H, np.inf)
    node = int(last_H.argmin())
    return None if np.isinf(last_H[node]) else node * problem.devices + order_HL[node, :count]


def _open_ranks(state: Assignment, bytes_T: Floats, allowed_P: Booleans | None) -> Booleans:
    problem = state.problem
    open_P: Booleans = np.all(state.bytes_PT + bytes_T <= problem.capacities.rank_T, axis=1)
    if np.isfinite(problem.capacities.node_T).any():
        roomy_H = (state.node_bytes_HT + bytes_T <= problem.capacities.node_T).all(axis=1)
        open_P &= np.repeat(roomy_H, problem.devices)
    return open_P if allowed_P is None else open_P & allowed_P


def _lightest(load: Floats, is_open: Booleans, count: int) -> Integers | None:
    """The `count` least loaded open places, the least first; of equal ones the first."""
    if int(is_open.sum()) < count:
        return None
    load = np.where(is_open, load, np.inf)
    if count == 1:
        return np.array([load.argmin()])
    places: Integers = np.argsort(load, kind="stable")[:count]
    return places
