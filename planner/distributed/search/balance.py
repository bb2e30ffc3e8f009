"""Local search by moves and swaps of single items: off the slowest rank, and off ranks whose memory is overfull."""

import numpy as np
from numpy.typing import NDArray

from planner.distributed.search.assignment import Assignment
from planner.distributed.search.items import NOTHING, Items

__all__ = ["balance", "is_overfull", "repair_memory"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_PARTNERS = 24
# Exchanges looked at in order of their outcome until one is allowed.
_TRIED = 64
_GAIN = 1e-12


def balance(state: Assignment, target_ms: float, steps: int) -> None:
    """Move or swap items between the slowest rank and others while that helps, until no rank is above the target."""
    items = Items(state)
    for _ in range(steps):
        rank = int(state.load_P.argmax())
        if state.load_P[rank] <= target_ms:
            break
        order = np.argsort(state.load_P, kind="stable")
        found = _exchange(items, rank, order[:_PARTNERS]) or _exchange(items, rank, order[_PARTNERS:-1])
        if found is None:
            break
        items.swap(found[0], found[1], rank, found[2])
    items.settle()


def _exchange(items: Items, rank: int, partners: Integers) -> tuple[int, int, int] | None:
    """The item, the one to take for it and the other rank that leave the slower of the two ranks fastest."""
    own_I = np.array(items.on_rank[rank], dtype=np.int64)
    partners = partners[partners != rank]
    if not len(own_I) or not len(partners):
        return None
    load_P = items.state.load_P
    other_J = np.concatenate([items.on(partners.tolist()), np.full(len(partners), NOTHING)])
    rank_J = np.concatenate([items.rank_I[other_J[: -len(partners)]], partners])
    leaving_IJ = items.ms_I[own_I][:, None] - items.ms_I[other_J][None, :]
    worst_IJ = np.maximum(load_P[rank] - leaving_IJ, load_P[rank_J] + leaving_IJ)
    if not items.is_roomy():
        # Else the best exchanges might all be among those that do not fit.
        worst_IJ[~items.has_room(own_I, other_J, rank, rank_J)] = np.inf
    limit = load_P[rank] * (1 - _GAIN)
    for pair in _least(worst_IJ, limit):
        own, other = divmod(int(pair), len(other_J))
        if items.may_swap(int(own_I[own]), int(other_J[other]), rank, int(rank_J[other])):
            return int(own_I[own]), int(other_J[other]), int(rank_J[other])
    return None


def _least(values: Floats, limit: float) -> Integers:
    """Flat places of the least values below the limit, in order; equal ones as they come."""
    flat = values.ravel()
    places = np.flatnonzero(flat < limit)
    if len(places) > _TRIED:
        border = np.partition(flat[places], _TRIED)[_TRIED]
        places = places[flat[places] <= border]
    ordered: Integers = places[np.argsort(flat[places], kind="stable")][: 4 * _TRIED]
    return ordered


def is_overfull(state: Assignment) -> bool:
    """Whether a rank or node holds more than it can."""
    capacities = state.problem.capacities
    return bool((state.bytes_PT > capacities.rank_T).any() or (state.node_bytes_HT > capacities.node_T).any())


def repair_memory(state: Assignment, steps: int) -> bool:
    """Move or swap items off overfull ranks at the least cost in load; whether all fit in the end."""
    items = Items(state)
    for _ in range(steps):
        rank = _fullest(state)
        if rank is None:
            break
        found = _relief(items, *rank)
        if found is None:
            break
        items.swap(found[0], found[1], rank[0], found[2])
    items.settle()
    return not is_overfull(state)


def _fullest(state: Assignment) -> tuple[int, int] | None:
    """The rank and tier that are furthest above what they hold; of a node its fullest rank. None where none is."""
    capacities, devices = state.problem.capacities, state.problem.devices
    over_PT = state.bytes_PT - capacities.rank_T
    over_HT = state.node_bytes_HT - capacities.node_T
    if over_PT.max() <= 0 and over_HT.max() <= 0:
        return None
    if over_PT.max() >= over_HT.max():
        rank, tier = np.unravel_index(int(over_PT.argmax()), over_PT.shape)
        return int(rank), int(tier)
    node, tier = np.unravel_index(int(over_HT.argmax()), over_HT.shape)
    first = int(node) * devices
    return first + int(state.bytes_PT[first : first + devices, tier].argmax()), int(tier)


def _relief(items: Items, rank: int, tier: int) -> tuple[int, int, int] | None:
    """The exchange that takes bytes of the tier off the rank and leaves the slower of both ranks fastest."""
    own_I = np.array(items.on_rank[rank], dtype=np.int64)
    partners = np.delete(np.arange(items.state.problem.ranks), rank)
    if not len(own_I) or not len(partners):
        return None
    load_P = items.state.load_P
    other_J = np.concatenate([items.on(partners.tolist()), np.full(len(partners), NOTHING)])
    rank_J = np.concatenate([items.rank_I[other_J[: -len(partners)]], partners])
    leaving_IJ = items.ms_I[own_I][:, None] - items.ms_I[other_J][None, :]
    freed_IJ = items.bytes_IT[own_I, tier][:, None] - items.bytes_IT[other_J, tier][None, :]
    room_J = items.state.problem.capacities.rank_T[tier] - items.state.bytes_PT[rank_J, tier]
    worst_IJ = np.maximum(load_P[rank] - leaving_IJ, load_P[rank_J] + leaving_IJ)
    worst_IJ = np.where((freed_IJ > 0) & (freed_IJ <= room_J[None, :]), worst_IJ, np.inf)
    for pair in _least(worst_IJ, np.inf):
        own, other = divmod(int(pair), len(other_J))
        if items.may_swap(int(own_I[own]), int(other_J[other]), rank, int(rank_J[other])):
            return int(own_I[own]), int(other_J[other]), int(rank_J[other])
    return None
