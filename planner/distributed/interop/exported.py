"""A plan as torchrec can run it, as plain data: which of its schemes each table takes, cut where its kernels cut.

What torchrec would run wrongly without a word is refused here. It sends a row's id to rank `id // ceil(rows / P)`,
whatever the plan says, so that only even cuts over all ranks, or over all ranks of one host, are right.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, Literal

from planner.distributed.cluster import Cluster
from planner.distributed.plan import Placement, Shard, ShardingPlan
from profiles.edge import STRICT, parse_object, read_json, shown
from profiles.errors import InputError
from profiles.files import replace_file

__all__ = ["SCHEMA", "Device", "ExportedShard", "ExportedTable", "TorchrecExport", "export_plan", "read_export"]

SCHEMA = "recplan.torchrec/1"
Device = Literal["cuda", "cpu"]
# fbgemm's fused kernels move four values at a time.
_FUSED_WIDTH = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedShard:
    """A block of a table on a rank: `rows` x `columns`, from `row_start` and `column_start` on."""

    rank: int
    row_start: int
    column_start: int
    rows: int
    columns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedTable:
    """A table under torchrec's names: `sharding_type` of `ShardingType`, `compute_kernel` of `EmbeddingComputeKernel`.

    `shards` are in the order that torchrec takes for granted; one per rank under `data_parallel`.
    """

    name: str
    rows: int
    dim: int
    pooling: float
    sharding_type: str
    compute_kernel: str
    shards: tuple[ExportedShard, ...]

    @property
    def min_partition(self) -> int | None:
        """The width of columns that torchrec's planner would have to choose, where columns are split."""
        split = self.sharding_type in ("column_wise", "table_column_wise", "grid_shard")
        return min(shard.columns for shard in self.shards) if split else None


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchrecExport:
    """All tables of a plan, for `devices_per_node` devices of one kind on each host; plain data, as a file holds it."""

    __pydantic_config__: ClassVar = STRICT
    device: Device
    devices_per_node: int
    tables: tuple[ExportedTable, ...]

    def to_object(self) -> dict[str, Any]:
        """The file's content."""
        return {"schema": SCHEMA, **asdict(self)}

    def save(self, path: Path) -> Path:
        """Write the export as JSON, which `read_export` reads.

        Raises:
            StorageError: the file cannot be written.
        """
        return replace_file(path, json.dumps(self.to_object()) + "\n")


def read_export(path: Path) -> TorchrecExport:
    """The export in a file.

    Raises:
        InputError: no such file, another schema, or a bad value; names the key.
    """
    body = read_json(path)
    if body.get("schema") != SCHEMA:
        raise InputError(f"{path}: schema: must be {SCHEMA!r}, but got {shown(body.get('schema'))}")
    return parse_object(TorchrecExport, {key: value for key, value in body.items() if key != "schema"}, str(path))


def export_plan(plan: ShardingPlan, *, device: Device = "cuda", fused: bool = True) -> TorchrecExport:
    """Every table of the plan under torchrec's names.

    Even rows over all ranks become `row_wise`, over all ranks of one host `table_row_wise`, whatever the plan calls
    them; they are cut into blocks of ceil(rows / ranks), as torchrec's kernels take them to be. `fused` runs the
    optimizer in the backward pass (the tables' parameters need `apply_optimizer_in_backward`).

    Raises:
        InputError: tables that torchrec cannot run, or would run wrongly; names all of them, each with the reason.
    """
    exported, refused = [], []
    for placement in plan.placements:
        try:
            exported.append(_export(placement, plan.cluster, device, fused=fused))
        except _RefusedError as error:
            refused.append(f"{placement.table.name}: {error}")
    if refused:
        raise InputError(f"torchrec cannot run {len(refused)} of {len(plan.placements)} tables: {'; '.join(refused)}")
    return TorchrecExport(device=device, devices_per_node=plan.cluster.devices_per_node, tables=tuple(exported))


class _RefusedError(Exception):
    """Why torchrec cannot run a placement."""


def _export(placement: Placement, cluster: Cluster, device: Device, *, fused: bool) -> ExportedTable:
    table = placement.table
    name, shards = _CUTS[placement.scheme](placement, cluster)
    kernel = "dense" if name == "data_parallel" or not fused else _kernel(placement, cluster, device)
    if kernel != "dense":
        for shard in shards:
            if shard.columns % _FUSED_WIDTH:
                raise _RefusedError(f"{shard.columns} columns on rank {shard.rank}; fused kernels take multiples of 4")
    return ExportedTable(
        name=table.name,
        rows=table.rows,
        dim=table.dim,
        pooling=table.pooling,
        sharding_type=name,
        compute_kernel=kernel,
        shards=shards,
    )


def _kernel(placement: Placement, cluster: Cluster, device: Device) -> str:
    names = sorted({shard.tier for shard in placement.shards})
    if len(names) > 1:
        raise _RefusedError(f"shards in {' and '.join(names)}; torchrec keeps a table in one kind of memory")
    if device == "cpu" or names[0] == cluster.tiers[0].name:
        return "fused"
    return "key_value" if names[0] == "ssd" else "fused_uvm"


_Cut = tuple[str, tuple[ExportedShard, ...]]


def _copied(placement: Placement, cluster: Cluster) -> _Cut:
    table = placement.table
    ranks = sorted(shard.rank for shard in placement.shards)
    if ranks != list(range(cluster.ranks)):
        raise _RefusedError(f"copies on {len(ranks)} of {cluster.ranks} ranks; torchrec copies to all")
    return "data_parallel", tuple(_block(rank, 0, 0, table.rows, table.dim) for rank in ranks)


def _by_columns(placement: Placement, cluster: Cluster) -> _Cut:
    """Whole columns, of any widths, on any ranks; one shard is a table in one piece."""
    shards = sorted(placement.shards, key=lambda shard: shard.column_start)
    if any(shard.rows != placement.table.rows for shard in shards):
        raise _RefusedError("columns that do not hold all rows")
    hosts = {cluster.node_of(shard.rank) for shard in shards}
    name = "table_wise" if len(shards) == 1 else "column_wise"
    if placement.scheme == "table_column_wise" and len(shards) > 1 and len(hosts) == 1:
        name = "table_column_wise"
    blocks = (_block(one.rank, 0, one.column_start, one.rows, one.columns) for one in shards)
    return name, tuple(blocks)


def _by_rows(placement: Placement, cluster: Cluster) -> _Cut:
    table = placement.table
    if len(placement.shards) == 1:
        return _by_columns(placement, cluster)
    if len({(shard.column_start, shard.column_stop) for shard in placement.shards}) > 1:
        return _by_both(placement, cluster)
    _check_even(placement.shards, table.rows)
    ranks = sorted(shard.rank for shard in placement.shards)
    over_all, over_host = ranks == list(range(cluster.ranks)), ranks == _host_ranks(cluster, ranks[0])
    if not over_all and not over_host:
        raise _RefusedError(
            f"rows over {len(ranks)} of {cluster.ranks} ranks ({_listed(ranks)}), which are not the "
            f"{cluster.devices_per_node} of one host; torchrec would look ids up on the wrong ranks"
        )
    name = "table_row_wise" if over_host and not (over_all and placement.scheme == "row_wise") else "row_wise"
    return name, _row_blocks(ranks, table.rows, 0, table.dim)


def _by_both(placement: Placement, cluster: Cluster) -> _Cut:
    """Columns over hosts, and each host's columns by rows over all its ranks."""
    table = placement.table
    starts = sorted({shard.column_start for shard in placement.shards})
    blocks: list[ExportedShard] = []
    for start in starts:
        column = [shard for shard in placement.shards if shard.column_start == start]
        _check_even(column, table.rows)
        ranks = sorted(shard.rank for shard in column)
        if ranks != _host_ranks(cluster, ranks[0]):
            raise _RefusedError(f"columns from {start} on ranks {_listed(ranks)}; torchrec takes all of one host")
        blocks += _row_blocks(ranks, table.rows, start, column[0].columns)
    if len(starts) == 1:
        return "table_row_wise", tuple(blocks)
    return "grid_shard", tuple(blocks)


_CUTS: Mapping[str, Callable[[Placement, Cluster], _Cut]] = {
    "data_parallel": _copied,
    "table_wise": _by_columns,
    "column_wise": _by_columns,
    "table_column_wise": _by_columns,
    "row_wise": _by_rows,
    "table_row_wise": _by_rows,
    "grid": _by_both,
}


def _check_even(shards: Sequence[Shard], rows: int) -> None:
    """Rows spread as evenly as they go, or in blocks of the least whole size with the rest last."""
    sizes = sorted((shard.rows for shard in shards), reverse=True)
    if sizes[0] - sizes[-1] > 1 and sizes != sorted(_ceil_blocks(rows, len(shards)), reverse=True):
        raise _RefusedError(
            f"uneven rows, {sizes[-1]:,} to {sizes[0]:,} a rank; torchrec would look ids up on the wrong ranks"
        )


def _row_blocks(ranks: Sequence[int], rows: int, column_start: int, columns: int) -> tuple[ExportedShard, ...]:
    sizes = _ceil_blocks(rows, len(ranks))
    starts = accumulate(sizes, initial=0)
    return tuple(
        _block(rank, start, column_start, size, columns)
        for rank, start, size in zip(ranks, starts, sizes, strict=False)
    )


def _ceil_blocks(rows: int, parts: int) -> list[int]:
    block = -(-rows // parts)
    return [min(block, max(0, rows - part * block)) for part in range(parts)]


def _host_ranks(cluster: Cluster, rank: int) -> list[int]:
    first = cluster.node_of(rank) * cluster.devices_per_node
    return list(range(first, first + cluster.devices_per_node))


def _block(rank: int, row_start: int, column_start: int, rows: int, columns: int) -> ExportedShard:
    return ExportedShard(rank=rank, row_start=row_start, column_start=column_start, rows=rows, columns=columns)


def _listed(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:8]))
    return shown if len(ranks) <= 8 else f"{shown}, ..."
