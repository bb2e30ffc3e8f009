"""torchrec's own planner on the same tables and cluster, to compare with."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributed.optim.apply_optimizer_in_backward import _apply_optimizer_in_backward
from torchrec import optim as torchrec_optim
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import EmbeddingShardingPlanner, Topology
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import ParameterConstraints, PlannerError, ShardingOption
from torchrec.modules.embedding_configs import DataType, EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection

from planner.distributed.cluster import Cluster
from planner.distributed.interop.topology import Constants, TorchrecFigures, torchrec_figures
from planner.distributed.plan import Placement, Scheme, Shard, ShardingPlan
from planner.distributed.tables import EmbeddingTable, require_unique_names
from profiles.errors import InfeasibleError, InputError

__all__ = ["plan_with_torchrec"]

_DTYPES: Mapping[str, DataType] = {
    "float32": DataType.FP32,
    "float16": DataType.FP16,
    "bfloat16": DataType.BF16,
    "int8": DataType.INT8,
}
_OPTIMIZERS: Mapping[str, type[torch.optim.Optimizer]] = {
    "rowwise_adagrad": torchrec_optim.RowWiseAdagrad,
    "adagrad": torchrec_optim.Adagrad,
    "sgd": torchrec_optim.SGD,
    "adam": torchrec_optim.Adam,
}
_SCHEMES: Mapping[str, Scheme] = {
    "table_wise": "table_wise",
    "row_wise": "row_wise",
    "column_wise": "column_wise",
    "data_parallel": "data_parallel",
    "table_row_wise": "table_row_wise",
    "table_column_wise": "table_column_wise",
    "grid_shard": "grid",
}


def plan_with_torchrec(
    tables: Sequence[EmbeddingTable],
    cluster: Cluster,
    *,
    batch_per_rank: int,
    constants: Constants = "cluster",
    in_device_memory: bool = False,
    timeout_s: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> ShardingPlan:
    """The plan of torchrec's default planner: its default proposers, partitioner and costs, nothing reserved.

    Plan seconds run by `clock` from the start of the enumeration to the plan. `rank_ms` are torchrec's own figures
    (`Perf.total`, milliseconds). No bound is known for them here. `in_device_memory` allows only kernels that keep
    tables on the device; `timeout_s` ends the search at its next proposal after that.

    Raises:
        InfeasibleError: torchrec finds no plan.
    """
    require_unique_names(tables)
    figures = torchrec_figures(cluster, constants)
    options: list[ShardingOption] = []

    def keep(best: list[ShardingOption]) -> list[ShardingOption]:
        options.extend(best)
        return best

    planner = EmbeddingShardingPlanner(
        topology=_topology(figures),
        batch_size=batch_per_rank,
        constraints={
            name: _constraint(table, in_device_memory=in_device_memory)
            for name, table in zip(_aliases(tables), tables, strict=True)
        },
        storage_reservation=FixedPercentageStorageReservation(0.0),
        stats=[],
        debug=False,
        callbacks=[keep],
        timeout_seconds=timeout_s,
    )
    collection = _collection(tables)
    start = clock()
    try:
        with _quiet():
            planner.plan(collection, [EmbeddingBagCollectionSharder()])
    except PlannerError as error:
        raise InfeasibleError(f"torchrec finds no plan: {str(error).strip().splitlines()[0]}") from error
    seconds = clock() - start
    return _as_plan(tables, cluster, batch_per_rank, options, seconds, constants)


def _topology(figures: TorchrecFigures) -> Topology:
    with _quiet():
        return Topology(
            world_size=figures.ranks,
            local_world_size=figures.devices_per_node,
            compute_device="cuda",
            hbm_cap=figures.hbm_bytes,
            ddr_cap=figures.ddr_bytes,
            ssd_cap=0,
            hbm_mem_bw=figures.hbm_bytes_per_ms,
            hbm_to_ddr_mem_bw=figures.host_to_device_bytes_per_ms,
            intra_host_bw=figures.intra_bytes_per_ms,
            inter_host_bw=figures.inter_bytes_per_ms,
        )


def _constraint(table: EmbeddingTable, *, in_device_memory: bool) -> ParameterConstraints:
    kernels = ["fused", "dense"] if in_device_memory else None
    return ParameterConstraints(pooling_factors=[table.pooling], compute_kernels=kernels)


def _aliases(tables: Sequence[EmbeddingTable]) -> list[str]:
    """Names that a module can have: of a table called `half` or `a.b`, torch would make no submodule."""
    return [f"table_{i}" for i in range(len(tables))]


def _collection(tables: Sequence[EmbeddingTable]) -> EmbeddingBagCollection:
    """On the meta device, under aliases, with the optimizer that its state is counted by."""
    named = dict(zip(_aliases(tables), tables, strict=True))
    collection = EmbeddingBagCollection(
        device=torch.device("meta"),
        tables=[
            EmbeddingBagConfig(
                name=name,
                num_embeddings=table.rows,
                embedding_dim=table.dim,
                feature_names=[f"feature_{name}"],
                data_type=_DTYPES[table.dtype],
            )
            for name, table in named.items()
        ],
    )
    bags = dict(collection.embedding_bags.items())
    for name, table in named.items():
        _apply_optimizer_in_backward(_OPTIMIZERS[table.optimizer], bags[name].parameters(), {"lr": 0.01})
    return collection


def _as_plan(
    tables: Sequence[EmbeddingTable],
    cluster: Cluster,
    batch_per_rank: int,
    options: Sequence[ShardingOption],
    seconds: float,
    constants: Constants,
) -> ShardingPlan:
    rank_ms = [0.0] * cluster.ranks
    chosen: dict[str, ShardingOption] = {}
    for option in options:
        chosen[option.name] = option
        for shard in option.shards:
            rank_ms[shard.rank] += shard.perf.total
    whose = "its own constants (a V100's)" if constants == "torchrec" else f"the figures of {cluster.name}"
    return ShardingPlan(
        cluster=cluster,
        batch_per_rank=batch_per_rank,
        placements=tuple(
            _placement(table, chosen[name], cluster) for name, table in zip(_aliases(tables), tables, strict=True)
        ),
        rank_ms=tuple(rank_ms),
        lower_bound_ms=0.0,
        bound_kind="none: torchrec gives no bound",
        plan_seconds=seconds,
        assumptions=(f"torchrec's planner and costs with {whose}; no memory reserved",),
    )


def _placement(table: EmbeddingTable, option: ShardingOption, cluster: Cluster) -> Placement:
    tier = _tier(option.compute_kernel, cluster)
    shards = tuple(
        Shard(
            table.name,
            shard.rank,
            shard.offset[0],
            shard.offset[0] + shard.size[0],
            shard.offset[1],
            shard.offset[1] + shard.size[1],
            tier,
        )
        for shard in option.shards
        if shard.size[0]
    )
    return Placement(table=table, scheme=_SCHEMES[option.sharding_type], shards=shards)


def _tier(kernel: str, cluster: Cluster) -> str:
    """Tables that are read over the host link lie in the host's memory, whatever part of them is cached."""
    if "uvm" not in kernel:
        return cluster.tiers[0].name
    shared = next((tier.name for tier in cluster.tiers[1:] if tier.per_host), None)
    if shared is None:
        raise InputError(f"torchrec: puts tables into host memory, which cluster {cluster.name} does not have")
    return shared


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torchrec logs of each table."""
    logger: Any = logging.getLogger("torchrec")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
