"""Models of the ZionEX paper on its cluster, under assumptions that can be varied; plans are made once for each."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from planner.distributed import Cluster, EmbeddingTable, Placement, Shard, ShardingPlan, get_cluster
from planner.distributed.constraints import TableConstraint
from planner.distributed.iteration import IterationTime, TrainingJob, predict_iteration
from planner.distributed.iteration.training_job import CollectiveDtype
from planner.distributed.network import Network
from planner.distributed.paper_models import Assumptions, paper_job
from planner.distributed.shard_costs import RooflineCosts
from planner.distributed.sharding import plan_sharding

__all__ = ["FP16", "FP32", "NODES", "Setting", "placed_by_bytes"]

Collectives = tuple[CollectiveDtype, CollectiveDtype]
FP32: Collectives = ("float32", "float32")
FP16: Collectives = ("float16", "bfloat16")
NODES = 16
_BATCH = 512
# Of the messages whose bandwidths the paper gives.
_PUBLISHED_BYTES = 256e6


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One model under one set of assumptions.

    `compute_share` is the part of the benchmark's GEMM rate that its dense layers reach. `node_exponent` and
    `half_message_bytes` are of the network between nodes, the catalogue's where None; with another half message, one of
    256 MB still takes as long as published. Fewer nodes hold fewer rows. `is_free` plans model F by any scheme, not by
    rows alone.
    """

    model: str = "A"
    assumptions: Assumptions = field(default_factory=lambda: Assumptions(spread=0.5))
    compute_share: float = 1.0
    batch_per_rank: int = _BATCH
    nodes: int = NODES
    collectives: Collectives = FP16
    is_balanced: bool = True
    is_free: bool = False
    is_input_pipelined: bool = True
    is_network_shared: bool = False
    lookups_beside_dense: bool = True
    node_exponent: float | None = None
    half_message_bytes: float | None = None

    @property
    def cluster(self) -> Cluster:
        """ZionEX as far as the setting changes it."""
        base = get_cluster("zionex").with_nodes(self.nodes)
        inter = base.inter
        if self.node_exponent is not None:
            inter = replace(inter, node_exponent={"all_to_all": self.node_exponent})
        if self.half_message_bytes is not None:
            inter = _with_half_message(inter, self.half_message_bytes)
        rates = {dtype: rate * self.compute_share for dtype, rate in base.flops_per_s.items()}
        return replace(base, flops_per_s=rates, inter=inter)

    @property
    def job(self) -> TrainingJob:
        """The model's iteration."""
        job = paper_job(
            self.model,
            self.assumptions,
            batch_per_rank=self.batch_per_rank,
            collectives=self.collectives,
            row_share=self.nodes / NODES,
        )
        return replace(
            job,
            is_input_pipelined=self.is_input_pipelined,
            is_network_shared=self.is_network_shared,
            lookups_beside_dense=self.lookups_beside_dense,
        )

    @property
    def plan(self) -> ShardingPlan:
        """Where its tables lie; the same for all that does not change tables or nodes."""
        return replace(
            _plan(self.model, self.assumptions, self.nodes, self.is_balanced, self.is_free), cluster=self.cluster
        )

    @property
    def time(self) -> IterationTime:
        """What an iteration takes."""
        return predict_iteration(self.job, self.plan)


def _with_half_message(network: Network, half_message_bytes: float) -> Network:
    """Another half message, and rates at which messages of the published size take as long as before."""
    factor = (_PUBLISHED_BYTES + half_message_bytes) / (_PUBLISHED_BYTES + network.half_message_bytes)
    rates = {name: rate * factor for name, rate in network.bandwidth_bytes_per_s.items()}
    return replace(network, half_message_bytes=half_message_bytes, bandwidth_bytes_per_s=rates)


@lru_cache(maxsize=256)
def _plan(model: str, assumptions: Assumptions, nodes: int, is_balanced: bool, is_free: bool) -> ShardingPlan:
    cluster = get_cluster("zionex").with_nodes(nodes)
    tables = paper_job(model, assumptions, row_share=nodes / NODES).tables
    if not is_balanced:
        return placed_by_bytes(tables, cluster)
    # Model F is sharded by rows, as published.
    constraints = (TableConstraint(table="*", schemes=("row_wise",)),) if model == "F" and not is_free else ()
    costs = RooflineCosts(forward_dtype=FP16[0], backward_dtype=FP16[1])
    return plan_sharding(tables, cluster, batch_per_rank=_BATCH, constraints=constraints, costs=costs)


def placed_by_bytes(tables: Sequence[EmbeddingTable], cluster: Cluster) -> ShardingPlan:
    """Whole tables, the largest first, each on the rank with the fewest bytes: balanced in memory alone."""
    held = [(0, rank) for rank in range(cluster.ranks)]
    placements = []
    for table in sorted(tables, key=lambda one: -one.total_bytes):
        size, rank = heapq.heappop(held)
        heapq.heappush(held, (size + table.total_bytes, rank))
        shard = Shard(table.name, rank, 0, table.rows, 0, table.dim, cluster.tiers[0].name)
        placements.append(Placement(table=table, scheme="table_wise", shards=(shard,)))
    return ShardingPlan(
        cluster=cluster,
        batch_per_rank=_BATCH,
        placements=tuple(placements),
        rank_ms=(0.0,) * cluster.ranks,
        lower_bound_ms=0.0,
        bound_kind="balanced by bytes alone",
    )
