"""Plans of a few hand-placed tables."""

from dataclasses import replace

from planner.distributed import Cluster, EmbeddingTable, Placement, Shard, ShardingPlan, get_cluster
from planner.distributed.plan import Scheme

__all__ = ["Block", "placed", "plan_of", "small_cluster"]

# rank, row_start, row_stop, column_start, column_stop
Block = tuple[int, int, int, int, int]


def placed(name: str, scheme: Scheme, rows: int, dim: int, *blocks: Block, tier: str = "ddr") -> Placement:
    shards = tuple(Shard(name, *block, tier) for block in blocks)
    return Placement(table=EmbeddingTable(name=name, rows=rows, dim=dim, pooling=3.0), scheme=scheme, shards=shards)


def small_cluster(nodes: int, devices: int, like: str = "local-gloo") -> Cluster:
    return replace(get_cluster(like), nodes=nodes, devices_per_node=devices)


def plan_of(cluster: Cluster, *placements: Placement) -> ShardingPlan:
    return ShardingPlan(
        cluster=cluster,
        batch_per_rank=8,
        placements=placements,
        rank_ms=(1.0,) * cluster.ranks,
        lower_bound_ms=1.0,
        bound_kind="by hand",
    )
