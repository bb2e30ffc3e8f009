"""Pieces of tables as arrays: what shard costs are asked about, thousands at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster
from planner.distributed.plan import SCHEMES, Placement
from planner.distributed.tables import BYTES_PER_VALUE, EmbeddingTable

__all__ = ["Pieces", "TableArrays", "pieces_of_placements"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class TableArrays:
    """What costs need of each table, as arrays over tables [tables]."""

    rows: Integers
    dim: Integers
    pooling: Floats
    value_bytes: Integers
    row_header_bytes: Integers
    state_bytes_per_row: Integers
    state_bytes_per_value: Integers

    @classmethod
    def of(cls, tables: Sequence[EmbeddingTable]) -> "TableArrays":
        """The arrays of these tables."""

        def integers(values: Any) -> Integers:
            return np.fromiter(values, dtype=np.int64, count=len(tables))

        per_row = integers(table.state_bytes_of_row(0) for table in tables)
        return cls(
            rows=integers(table.rows for table in tables),
            dim=integers(table.dim for table in tables),
            pooling=np.fromiter((table.pooling for table in tables), dtype=np.float64, count=len(tables)),
            value_bytes=integers(BYTES_PER_VALUE[table.dtype] for table in tables),
            row_header_bytes=integers(table.weight_bytes_per_row(0) for table in tables),
            state_bytes_per_row=per_row,
            state_bytes_per_value=integers(table.state_bytes_of_row(1) for table in tables) - per_row,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Pieces:
    """Pieces [N] of tables on a cluster, for `batch_per_rank` samples on each rank.

    `table_N` and `tier_N` index `tables` and `cluster.tiers`, `scheme_N` indexes `SCHEMES`. An option of that scheme
    cuts the table into `row_parts_N` x `column_parts_N`; the piece is `rows_N` rows by `columns_N` columns of it.
    """

    tables: tuple[EmbeddingTable, ...]
    cluster: Cluster
    batch_per_rank: int
    table_N: Integers
    scheme_N: Integers
    tier_N: Integers
    row_parts_N: Integers
    column_parts_N: Integers
    rows_N: Integers
    columns_N: Integers
    arrays: TableArrays

    @classmethod
    def none(cls, tables: Sequence[EmbeddingTable], cluster: Cluster, batch_per_rank: int) -> "Pieces":
        """No piece yet of these tables."""
        empty_N = np.zeros(0, dtype=np.int64)
        return cls(
            tables=tuple(tables),
            cluster=cluster,
            batch_per_rank=batch_per_rank,
            table_N=empty_N,
            scheme_N=empty_N,
            tier_N=empty_N,
            row_parts_N=empty_N,
            column_parts_N=empty_N,
            rows_N=empty_N,
            columns_N=empty_N,
            arrays=TableArrays.of(tables),
        )

    def __len__(self) -> int:
        return len(self.table_N)

    @property
    def global_batch(self) -> int:
        """Samples of all ranks."""
        return self.batch_per_rank * self.cluster.ranks

    @property
    def pooling(self) -> Floats:
        """Ids per sample of each piece's table [N]."""
        return self.arrays.pooling[self.table_N]

    @property
    def row_share(self) -> Floats:
        """The share of its table's rows that each piece has [N]."""
        return self.rows_N / self.arrays.rows[self.table_N]

    @property
    def weight_bytes_per_row(self) -> Integers:
        """Bytes of weights in one row of each piece [N]."""
        return self.columns_N * self.arrays.value_bytes[self.table_N] + self.arrays.row_header_bytes[self.table_N]

    @property
    def stored_bytes(self) -> Integers:
        """Bytes of each piece [N]: weights and optimizer state."""
        table_N = self.table_N
        state_N = self.arrays.state_bytes_per_row[table_N] + self.arrays.state_bytes_per_value[table_N] * self.columns_N
        return self.rows_N * (self.weight_bytes_per_row + state_N)

    def has_scheme(self, *schemes: str) -> NDArray[np.bool_]:
        """Which pieces [N] come from one of these schemes."""
        return np.isin(self.scheme_N, [SCHEMES.index(scheme) for scheme in schemes])


def pieces_of_placements(
    placements: Sequence[Placement], cluster: Cluster, batch_per_rank: int
) -> tuple[Pieces, Integers]:
    """Every shard of the placements as a piece, and the rank [N] that it lies on."""
    tiers = {tier.name: index for index, tier in enumerate(cluster.tiers)}
    columns: list[tuple[int, ...]] = []
    for index, placement in enumerate(placements):
        scheme = SCHEMES.index(placement.scheme)
        parts = len({shard.row_start for shard in placement.shards}), len({s.column_start for s in placement.shards})
        for _, rank, row_start, row_stop, column_start, column_stop, tier in placement.shards:
            columns.append((index, scheme, tiers[tier], *parts, row_stop - row_start, column_stop - column_start, rank))
    table_N, scheme_N, tier_N, row_parts_N, column_parts_N, rows_N, columns_N, rank_N = (
        np.array(columns, dtype=np.int64).reshape(-1, 8).T
    )
    pieces = replace(
        Pieces.none([placement.table for placement in placements], cluster, batch_per_rank),
        table_N=table_N,
        scheme_N=scheme_N,
        tier_N=tier_N,
        row_parts_N=row_parts_N,
        column_parts_N=column_parts_N,
        rows_N=rows_N,
        columns_N=columns_N,
    )
    return pieces, rank_N
