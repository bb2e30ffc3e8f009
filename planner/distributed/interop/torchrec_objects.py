"""An export as torchrec's own objects: the `ShardingPlan` that DistributedModelParallel takes, and constraints."""

from collections.abc import Mapping

from torchrec.distributed.planner.types import ParameterConstraints
from torchrec.distributed.types import (
    CacheParams,
    EmbeddingModuleShardingPlan,
    EnumerableShardingSpec,
    ParameterSharding,
    ShardMetadata,
)
from torchrec.distributed.types import ShardingPlan as TorchrecPlan

from planner.distributed.interop.exported import ExportedTable, TorchrecExport
from profiles.errors import InputError

__all__ = ["parameter_constraints", "torchrec_plan"]


def torchrec_plan(
    export: TorchrecExport, modules: Mapping[str, str] | str = "", *, cache_load_factor: float | None = None
) -> TorchrecPlan:
    """What `DistributedModelParallel(model, plan=...)` takes.

    `modules` is the path of the `EmbeddingBagCollection` in the model, or one path per table (`table_modules(model)`).
    `cache_load_factor` keeps that share of the rows of tables in host memory in a cache on the device.

    Raises:
        InputError: `modules` lacks a table, or names one that the export does not have, or the factor is not in (0, 1].
    """
    if cache_load_factor is not None and not 0 < cache_load_factor <= 1:
        raise InputError(f"cache_load_factor: must be in (0, 1], but got {cache_load_factor}")
    paths = {table.name: modules for table in export.tables} if isinstance(modules, str) else dict(modules)
    if odd := sorted({table.name for table in export.tables} ^ set(paths)):
        raise InputError(f"modules: must name exactly the exported tables, but differ in {', '.join(odd)}")
    plans: dict[str, EmbeddingModuleShardingPlan] = {}
    for table in export.tables:
        plan = plans.setdefault(paths[table.name], EmbeddingModuleShardingPlan())
        plan[table.name] = _parameter_sharding(table, export, cache_load_factor)
    return TorchrecPlan(plan=plans)


def parameter_constraints(export: TorchrecExport) -> dict[str, ParameterConstraints]:
    """What makes torchrec's planner choose the same schemes and kernels, by table; ranks it still chooses itself."""
    return {
        table.name: ParameterConstraints(
            sharding_types=[table.sharding_type],
            compute_kernels=[table.compute_kernel],
            min_partition=table.min_partition,
            pooling_factors=[table.pooling],
        )
        for table in export.tables
    }


def _parameter_sharding(
    table: ExportedTable, export: TorchrecExport, cache_load_factor: float | None
) -> ParameterSharding:
    cached = cache_load_factor is not None and table.compute_kernel == "fused_uvm"
    return ParameterSharding(
        sharding_type=table.sharding_type,
        compute_kernel="fused_uvm_caching" if cached else table.compute_kernel,
        ranks=[shard.rank for shard in table.shards],
        sharding_spec=None if table.sharding_type == "data_parallel" else _sharding_spec(table, export),
        cache_params=CacheParams(load_factor=cache_load_factor) if cached else None,
    )


def _sharding_spec(table: ExportedTable, export: TorchrecExport) -> EnumerableShardingSpec:
    return EnumerableShardingSpec(
        [
            ShardMetadata(
                shard_offsets=[shard.row_start, shard.column_start],
                shard_sizes=[shard.rows, shard.columns],
                placement=_place(shard.rank, export),
            )
            for shard in table.shards
        ]
    )


def _place(rank: int, export: TorchrecExport) -> str:
    if export.device == "cpu":
        return f"rank:{rank}/cpu"
    return f"rank:{rank}/{export.device}:{rank % export.devices_per_node}"
