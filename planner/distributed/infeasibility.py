"""Why tables do not fit: which ones, by how many bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from planner.distributed.preparation import Prepared
from planner.distributed.search.options import EVERYWHERE, NODE
from planner.distributed.search.packing import Stuck
from profiles.errors import InfeasibleError
from profiles.units import format_bytes

__all__ = ["InfeasiblePlanError", "Shortage", "find_shortage"]

_MOST_NAMES = 8


class InfeasiblePlanError(InfeasibleError):
    """No plan holds the tables: `tables` by name, the shortage, and changes that would fit, the smallest first."""

    def __init__(
        self, message: str, *, tables: Sequence[str] = (), shortage_bytes: int = 0, changes: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.tables, self.shortage_bytes, self.changes = tuple(tables), shortage_bytes, tuple(changes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shortage:
    """Tables that do not fit, the bytes that they lack, and both in a sentence."""

    tables: tuple[str, ...]
    bytes: int
    sentence: str


def find_shortage(prepared: Prepared, stuck: Stuck | None) -> Shortage:
    """What is short: for one table alone, for tables that share ranks and tiers, or for how the last one was packed."""
    if prepared.homeless_units:
        return _too_large(prepared)
    return _too_many(prepared) or _unpacked(prepared, stuck or Stuck(0, 0.0))


def _too_large(prepared: Prepared) -> Shortage:
    """Units whose every item overfills the memory that it may use."""
    over = {unit: _least_excess(prepared, unit) for unit in prepared.homeless_units}
    names = tuple(name for unit in over for name in prepared.names(unit))
    excess = round(sum(over.values()))
    unit, most = max(over.items(), key=lambda one: one[1])
    sentence = (
        f"tables {_listed(names)} do not fit even alone: {_listed(prepared.names(unit))}, cut as finely as it may be, "
        f"is {format_bytes(most)} ({most:,.0f} bytes) larger than the memory that it may lie in"
    )
    return Shortage(tables=names, bytes=excess, sentence=sentence)


def _least_excess(prepared: Prepared, unit: int) -> float:
    """The bytes above the capacities of empty ranks and nodes, of the unit's option that has the fewest."""
    problem, capacities = prepared.problem, prepared.problem.capacities
    mine = prepared.options.where(np.flatnonzero(prepared.options.unit_O == unit))
    nodes_O = np.select([mine.kind_O == EVERYWHERE], [problem.nodes], default=1)[:, None]
    devices_O = np.where(np.isin(mine.kind_O, (NODE, EVERYWHERE)), problem.devices, 1)[:, None]
    on_rank_OG = (mine.bytes_OGT - capacities.rank_T).clip(min=0).sum(axis=2) * devices_O
    on_node_OG = (mine.bytes_OGT * devices_O[:, :, None] - capacities.node_T).clip(min=0).sum(axis=2)
    return float(((on_rank_OG + on_node_OG) * nodes_O * mine.count_OG).sum(axis=1).min())


def _too_many(prepared: Prepared) -> Shortage | None:
    """The greatest shortage over sets of tiers and sets of ranks, of the units that may lie nowhere else."""
    problem = prepared.problem
    tiers = len(problem.capacities.rank_T)
    worst: Shortage | None = None
    masks = [np.ones(problem.ranks, dtype=np.bool_)]
    if problem.allowed_UP is not None:
        masks += list(np.unique(problem.allowed_UP, axis=0))
    for count in range(1, tiers + 1):
        for kept in combinations(range(tiers), count):
            units, least_U = _bound_to(prepared, kept)
            for mask_P in masks:
                found = _overfull(prepared, kept, mask_P, units, least_U)
                if found is not None and (worst is None or found.bytes > worst.bytes):
                    worst = found
    return worst


def _bound_to(prepared: Prepared, kept: tuple[int, ...]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which units [U] have no option outside these tiers, and the least bytes [U] of any option."""
    options, start = prepared.problem.options, prepared.problem.start_U1[:-1]
    total_O = options.total_bytes_OT.sum(axis=1)
    inside_O = options.total_bytes_OT[:, kept].sum(axis=1) >= total_O
    return np.logical_and.reduceat(inside_O, start), np.minimum.reduceat(total_O, start)


def _overfull(
    prepared: Prepared,
    kept: tuple[int, ...],
    mask_P: NDArray[np.bool_],
    bound_U: NDArray[np.bool_],
    least_U: NDArray[np.float64],
) -> Shortage | None:
    problem = prepared.problem
    if problem.allowed_UP is not None:
        bound_U = bound_U & ~(problem.allowed_UP & ~mask_P).any(axis=1)
    nodes = int(mask_P.reshape(problem.nodes, problem.devices).any(axis=1).sum())
    rank_T, node_T = problem.capacities.rank_T[list(kept)], problem.capacities.node_T[list(kept)]
    room = float(np.where(np.isinf(rank_T), node_T * nodes, rank_T * mask_P.sum()).sum())
    need = float(least_U[bound_U].sum())
    if need <= room:
        return None
    units = np.flatnonzero(bound_U)
    units = units[np.argsort(-least_U[units], kind="stable")]
    covering = int(np.searchsorted(np.cumsum(least_U[units]), need - room)) + 1
    names = tuple(name for unit in units[:covering].tolist() for name in prepared.names(unit))
    where = " and ".join(prepared.cluster.tiers[tier].name for tier in kept)
    sentence = (
        f"{len(units)} tables need {format_bytes(need)} of {where} on {int(mask_P.sum())} ranks, which hold "
        f"{format_bytes(room)}: {format_bytes(need - room)} ({need - room:,.0f} bytes) too little; "
        f"the largest: {_listed(names)}"
    )
    return Shortage(tables=names, bytes=round(need - room), sentence=sentence)


def _unpacked(prepared: Prepared, stuck: Stuck) -> Shortage:
    names = prepared.names(stuck.unit)
    sentence = (
        f"no way was found to place all shards: {_listed(names)} lacks {format_bytes(stuck.short_bytes)} "
        f"({stuck.short_bytes:,.0f} bytes) on the ranks with the most room"
    )
    return Shortage(tables=names, bytes=round(stuck.short_bytes), sentence=sentence)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
