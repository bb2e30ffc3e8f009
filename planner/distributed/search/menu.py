"""The ways in which single tables may be cut: a menu per table, before anything is priced."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster
from planner.distributed.constraints import TableRules
from planner.distributed.plan import SCHEMES
from planner.distributed.splits import column_counts, row_counts
from planner.distributed.tables import EmbeddingTable
from profiles.errors import InputError

__all__ = ["Room", "menu_of", "menu_rows"]

Integers = NDArray[np.int64]
_INDEX: dict[str, int] = {scheme: index for index, scheme in enumerate(SCHEMES)}
_NESTED = ("table_row_wise", "table_column_wise", "grid")


@dataclass(frozen=True, slots=True)
class Room:
    """Where a table may lie: allowed ranks, nodes that are allowed whole, and the most allowed ranks of one node."""

    ranks: int
    whole_nodes: int
    ranks_of_a_node: int

    @classmethod
    def of(cls, rules: TableRules, cluster: Cluster) -> "Room":
        """The room that these rules leave."""
        by_node = rules.ranks_P.reshape(cluster.nodes, cluster.devices_per_node).sum(axis=1)
        whole = int((by_node == cluster.devices_per_node).sum())
        return cls(int(by_node.sum()), whole, int(by_node.max()))


def menu_of(tables: Sequence[EmbeddingTable], rules: Sequence[TableRules], cluster: Cluster) -> list[Integers]:
    """For each table its menu [entries, 4]: scheme, tier, row parts, column parts.

    Raises:
        InputError: a table that no allowed scheme can cut on the ranks it may lie on; says why for each scheme.
    """
    menus: dict[tuple[object, ...], Integers] = {}
    rooms: dict[int, Room] = {}
    chosen = []
    for table, rule in zip(tables, rules, strict=True):
        room = rooms.get(id(rule)) or rooms.setdefault(id(rule), Room.of(rule, cluster))
        rows = min(table.rows, cluster.ranks)
        key = (rows, table.dim, room, rule.schemes, rule.tiers, rule.max_shards)
        if key not in menus:
            menus[key] = _priced_tiers(menu_rows(rows, table.dim, rule, room, cluster), rule.tiers)
        if not len(menus[key]):
            raise InputError(f"table {table.name}: {'; '.join(_reasons(table, rule, room, cluster))}")
        chosen.append(menus[key])
    return chosen


def menu_rows(rows: int, dim: int, rule: TableRules, room: Room, cluster: Cluster) -> list[tuple[int, int, int]]:
    """Scheme, row parts and column parts of each way to cut a table of so many rows (at most the ranks) and columns."""
    cuts = [cut for scheme in sorted(rule.schemes) for cut in _cuts(SCHEMES[scheme], rows, dim, room, cluster)]
    if rule.max_shards is None:
        return cuts
    return [cut for cut in cuts if cut[1] * cut[2] <= rule.max_shards]


def _cuts(scheme: str, rows: int, dim: int, room: Room, cluster: Cluster) -> Iterator[tuple[int, int, int]]:
    if scheme in _NESTED:
        if cluster.nodes > 1 and cluster.devices_per_node > 1:
            yield from _nested_cuts(scheme, rows, dim, room, cluster.devices_per_node)
        return
    index = _INDEX[scheme]
    if scheme == "row_wise":
        yield from ((index, parts, 1) for parts in row_counts(min(rows, room.ranks)))
    elif scheme == "column_wise":
        yield from ((index, 1, parts) for parts in column_counts(dim) if parts <= room.ranks)
    elif scheme == "table_wise" or 1 < cluster.ranks == room.ranks:
        yield index, 1, 1


def _nested_cuts(scheme: str, rows: int, dim: int, room: Room, devices: int) -> Iterator[tuple[int, int, int]]:
    index = _INDEX[scheme]
    if scheme == "table_column_wise":
        yield from ((index, 1, parts) for parts in column_counts(dim) if parts <= room.ranks_of_a_node)
    elif room.whole_nodes and rows >= devices:
        columns = (1,) if scheme == "table_row_wise" else column_counts(dim)
        yield from ((index, devices, parts) for parts in columns if parts <= room.whole_nodes)


def _priced_tiers(cuts: Sequence[tuple[int, int, int]], tiers: frozenset[int]) -> Integers:
    entries = [(scheme, tier, rows, columns) for scheme, rows, columns in cuts for tier in sorted(tiers)]
    return np.array(entries, dtype=np.int64).reshape(-1, 4)


def _reasons(table: EmbeddingTable, rule: TableRules, room: Room, cluster: Cluster) -> Iterator[str]:
    """Why each allowed scheme has no cut of this table."""
    devices, most = cluster.devices_per_node, rule.max_shards or cluster.ranks
    shape = f"{table.rows} rows x dim {table.dim}"
    for scheme in sorted(SCHEMES[index] for index in rule.schemes):
        if "column" in scheme and not column_counts(table.dim):
            yield f"{scheme} cannot cut dim {table.dim}, no part of which is a smaller multiple of 4 or 1"
        elif scheme == "row_wise" and table.rows < 2:
            yield f"{scheme} cannot cut {shape}"
        elif scheme in ("table_row_wise", "grid") and table.rows < devices:
            yield f"{scheme} has {devices} ranks per node but only {table.rows} rows"
        elif scheme in _NESTED and (cluster.nodes == 1 or devices == 1):
            yield f"{scheme} needs several nodes of several devices, but got {cluster.nodes} x {devices}"
        elif scheme == "data_parallel":
            yield f"{scheme} needs all of several ranks, but may use {room.ranks} of {cluster.ranks}"
        else:
            yield f"{scheme} cuts {shape} into more than the {min(most, room.ranks)} shards that it may have"
