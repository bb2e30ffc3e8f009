"""Small clusters with round figures, and plans placed by hand."""

from collections.abc import Sequence

from planner.distributed import Cluster, EmbeddingTable, MemoryTier, Network, Placement, Shard, ShardingPlan
from planner.distributed.network import COLLECTIVES

__all__ = ["cluster_of", "network_of", "row_wise", "table_wise"]


def network_of(rate: float = 10e9, latency_s: float = 0.0, **rates: float) -> Network:
    return Network(latency_s=latency_s, bandwidth_bytes_per_s={name: rates.get(name, rate) for name in COLLECTIVES})


def cluster_of(
    nodes: int = 1,
    devices: int = 2,
    *,
    network: Network | None = None,
    hbm_bytes: int = 32_000_000_000,
    ddr_bytes: int = 0,
    launch_s: float = 0.0,
) -> Cluster:
    tiers = [MemoryTier(name="hbm", bytes=hbm_bytes, bandwidth_bytes_per_s=1000e9)]
    if ddr_bytes:
        tiers.append(MemoryTier(name="ddr", bytes=ddr_bytes, bandwidth_bytes_per_s=100e9, per_host=True))
    both = network or network_of()
    return Cluster(
        name="small",
        nodes=nodes,
        devices_per_node=devices,
        flops_per_s={"float32": 10e12, "tf32": 100e12},
        tiers=tuple(tiers),
        intra=both,
        inter=both,
        host_to_device_bytes_per_s=10e9,
        kernel_launch_s=launch_s,
    )


def table_wise(
    tables: Sequence[EmbeddingTable],
    cluster: Cluster,
    *,
    batch: int = 100,
    tier: str = "hbm",
    ranks: Sequence[int] | None = None,
) -> ShardingPlan:
    """One after the other, round and round, or on the ranks given."""
    places = [i % cluster.ranks for i in range(len(tables))] if ranks is None else ranks
    return _plan(
        cluster,
        batch,
        [
            Placement(
                table=table,
                scheme="table_wise",
                shards=(Shard(table.name, rank, 0, table.rows, 0, table.dim, tier),),
            )
            for table, rank in zip(tables, places, strict=True)
        ],
    )


def row_wise(
    tables: Sequence[EmbeddingTable], cluster: Cluster, *, batch: int = 100, tier: str = "hbm"
) -> ShardingPlan:
    """Every table in equal parts of rows on all ranks."""
    placements = []
    for table in tables:
        cuts = [table.rows * rank // cluster.ranks for rank in range(cluster.ranks + 1)]
        shards = tuple(
            Shard(table.name, rank, cuts[rank], cuts[rank + 1], 0, table.dim, tier) for rank in range(cluster.ranks)
        )
        placements.append(Placement(table=table, scheme="row_wise", shards=shards))
    return _plan(cluster, batch, placements)


def _plan(cluster: Cluster, batch: int, placements: Sequence[Placement]) -> ShardingPlan:
    return ShardingPlan(
        cluster=cluster,
        batch_per_rank=batch,
        placements=tuple(placements),
        rank_ms=(0.0,) * cluster.ranks,
        lower_bound_ms=0.0,
        bound_kind="placed by hand",
    )
