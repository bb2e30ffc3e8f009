"""Distributed training what-ifs: how tables are sharded over a cluster, and what an iteration then takes.

After Mudigere et al., "Software-Hardware Co-design for Fast and Scalable Training of Deep Learning Recommendation
Models", arXiv 2104.05158.
"""

from planner.distributed.cluster import Cluster, MemoryTier, cluster_catalogue, get_cluster, read_cluster
from planner.distributed.constraints import TableConstraint
from planner.distributed.infeasibility import InfeasiblePlanError
from planner.distributed.network import COLLECTIVES, MeasuredPoint, Network, collective_seconds
from planner.distributed.pieces import Pieces
from planner.distributed.plan import SCHEMES, Placement, Shard, ShardingPlan, load_sharding_plan
from planner.distributed.shard_costs import PieceCosts, RooflineCosts, ShardCosts
from planner.distributed.sharding import plan_sharding, price_placements
from planner.distributed.tables import EmbeddingTable, read_tables, shipped_tables, total_bytes

__all__ = [
    "COLLECTIVES",
    "SCHEMES",
    "Cluster",
    "EmbeddingTable",
    "InfeasiblePlanError",
    "MeasuredPoint",
    "MemoryTier",
    "Network",
    "PieceCosts",
    "Pieces",
    "Placement",
    "RooflineCosts",
    "Shard",
    "ShardCosts",
    "ShardingPlan",
    "TableConstraint",
    "cluster_catalogue",
    "collective_seconds",
    "get_cluster",
    "load_sharding_plan",
    "plan_sharding",
    "price_placements",
    "read_cluster",
    "read_tables",
    "shipped_tables",
    "total_bytes",
]
