"""From an assignment to placements: which rows and columns each rank holds."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster
from planner.distributed.plan import SCHEMES, Placement, Shard
from planner.distributed.search.assignment import Assignment
from planner.distributed.splits import column_unit, part_spans
from planner.distributed.tables import EmbeddingTable

__all__ = ["build_placements"]

Integers = NDArray[np.int64]


def build_placements(
    state: Assignment,
    units: Sequence[Sequence[int]],
    tables: Sequence[EmbeddingTable],
    cluster: Cluster,
    rank_of_place: Integers,
) -> dict[str, Placement]:
    """The placement of each table by name; `rank_of_place` [P] turns the search's ranks into the cluster's."""
    tiers = [tier.name for tier in cluster.tiers]
    placements = {}
    for unit, members in enumerate(units):
        scheme, tier, row_parts, column_parts = state.problem.options.key_OK[state.option_U[unit]].tolist()
        places = state.places_U[unit]
        ranks = _ranks(SCHEMES[scheme], places, row_parts * column_parts, cluster.devices_per_node)
        ranks = rank_of_place[ranks] if len(ranks) else rank_of_place
        for member in members:
            table = tables[member]
            spans = _spans(table, SCHEMES[scheme], row_parts, column_parts, cluster.ranks)
            placed = zip(ranks.tolist(), spans, strict=True)
            shards = tuple(Shard(table.name, rank, *span, tiers[tier]) for rank, span in placed)
            placements[table.name] = Placement(table=table, scheme=SCHEMES[scheme], shards=shards)
    return placements


def _ranks(scheme: str, places: Integers, shards: int, devices: int) -> Integers:
    """The place of each shard; none where it is all of them in order."""
    if scheme in ("table_row_wise", "grid"):
        ranks: Integers = (places[:, None] * devices + np.arange(devices)).ravel()
        return ranks
    return places[:shards]


def _spans(
    table: EmbeddingTable, scheme: str, row_parts: int, column_parts: int, ranks: int
) -> Iterator[tuple[int, int, int, int]]:
    """Row and column spans of each shard: columns outside, rows within them."""
    if scheme == "data_parallel":
        yield from ((0, table.rows, 0, table.dim) for _ in range(ranks))
        return
    rows = list(part_spans(table.rows, row_parts))
    for columns in part_spans(table.dim, column_parts, column_unit(table.dim)):
        yield from ((*span, *columns) for span in rows)
