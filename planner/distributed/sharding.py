"""Plan the sharding of embedding tables over a cluster: options by cost, packing, local search, and a lower bound."""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster
from planner.distributed.constraints import TableConstraint
from planner.distributed.infeasibility import InfeasiblePlanError, find_shortage
from planner.distributed.pieces import pieces_of_placements
from planner.distributed.plan import Placement, ShardingPlan
from planner.distributed.preparation import Prepared, prepare
from planner.distributed.remedies import Request, find_remedies
from planner.distributed.search.building import build_placements
from planner.distributed.search.packing import Stuck
from planner.distributed.search.solving import solve
from planner.distributed.shard_costs import RooflineCosts, ShardCosts
from planner.distributed.tables import EmbeddingTable
from profiles.units import format_bytes

__all__ = ["plan_sharding", "price_placements"]


def plan_sharding(
    tables: Sequence[EmbeddingTable],
    cluster: Cluster,
    *,
    batch_per_rank: int,
    constraints: Sequence[TableConstraint] = (),
    costs: ShardCosts | None = None,
    reserved_bytes: float = 0.0,
) -> ShardingPlan:
    """The plan with the least load on its slowest rank that the search finds, and a bound that no plan beats.

    `reserved_bytes` of the fastest memory are taken on every device by others than tables (`device_memory` of a job).
    The search is deterministic; neither the order of tables nor the numbering of nodes and of ranks in them matters.

    Raises:
        InputError: no tables, a name twice, a batch below 1, bad constraints, a table that no allowed scheme cuts, or
            more reserved than there is.
        InfeasiblePlanError: the tables do not fit; names them, the shortage in bytes and the smallest remedy.
    """
    start = time.perf_counter()
    costs = RooflineCosts() if costs is None else costs
    usable = cluster.with_reserved(reserved_bytes) if reserved_bytes else cluster
    request = Request(
        tables=tuple(tables),
        cluster=usable,
        batch_per_rank=batch_per_rank,
        constraints=tuple(constraints),
        costs=costs,
        reserved_bytes=reserved_bytes,
    )
    prepared = prepare(tables, usable, batch_per_rank=batch_per_rank, constraints=constraints, costs=costs)
    if prepared.homeless_units:
        raise _infeasible(request, prepared, None)
    solution = solve(prepared.problem)
    if isinstance(solution, Stuck):
        raise _infeasible(request, prepared, solution)
    by_name = build_placements(solution.assignment, prepared.units, prepared.tables, cluster, prepared.rank_of_place)
    placements = tuple(by_name[table.name] for table in tables)
    rank_ms = price_placements(placements, cluster, batch_per_rank=batch_per_rank, costs=costs)
    return ShardingPlan(
        cluster=cluster,
        batch_per_rank=batch_per_rank,
        placements=placements,
        rank_ms=tuple(rank_ms.tolist()),
        lower_bound_ms=solution.bound.ms,
        bound_kind=solution.bound.kind,
        plan_seconds=time.perf_counter() - start,
        assumptions=costs.assumptions,
    )


def price_placements(
    placements: Sequence[Placement], cluster: Cluster, *, batch_per_rank: int, costs: ShardCosts | None = None
) -> NDArray[np.float64]:
    """What each rank [P] carries (ms), for placements from wherever."""
    costs = RooflineCosts() if costs is None else costs
    pieces, rank_N = pieces_of_placements(placements, cluster, batch_per_rank)
    return np.bincount(rank_N, weights=costs.price(pieces).total_ms, minlength=cluster.ranks).astype(np.float64)


def _infeasible(request: Request, prepared: Prepared, stuck: Stuck | None) -> InfeasiblePlanError:
    shortage = find_shortage(prepared, stuck)
    changes = [remedy.change for remedy in find_remedies(request)]
    advice = (
        f"the smallest change that would fit: {changes[0]}" if changes else "no single change that would fit was found"
    )
    others = f"; others: {'; '.join(changes[1:])}" if changes[1:] else ""
    return InfeasiblePlanError(
        f"tables do not fit {request.cluster.name}: {shortage.sentence}{_beside(request)}; {advice}{others}",
        tables=shortage.tables,
        shortage_bytes=shortage.bytes,
        changes=changes,
    )


def _beside(request: Request) -> str:
    if not request.reserved_bytes:
        return ""
    taken, name = format_bytes(request.reserved_bytes), request.cluster.tiers[0].name
    return f", beside {taken} of {name} a device for layers, activations and buffers"
