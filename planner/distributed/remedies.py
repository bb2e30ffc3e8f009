"""What would make tables fit: one change at a time, each as small as it can be, compared in bytes."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.distributed.cluster import Cluster, MemoryTier
from planner.distributed.constraints import TableConstraint
from planner.distributed.preparation import prepare
from planner.distributed.search.assignment import Assignment
from planner.distributed.search.solving import first_fit
from planner.distributed.shard_costs import RooflineCosts, ShardCosts
from planner.distributed.tables import EmbeddingTable
from profiles.errors import InputError
from profiles.units import format_bytes

__all__ = ["Remedy", "Request", "find_remedies", "fits"]

_MOST_NODES_FACTOR = 64
_MOST_MEMORY_FACTOR = 1024.0
_BISECTIONS = 8
_MOST_CONSTRAINTS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a plan was asked for; `cluster` is without the `reserved_bytes` of every device's fastest memory."""

    tables: tuple[EmbeddingTable, ...]
    cluster: Cluster
    batch_per_rank: int
    constraints: tuple[TableConstraint, ...]
    costs: ShardCosts
    reserved_bytes: float = 0.0


@dataclass(frozen=True, order=True, slots=True)
class Remedy:
    """A change after which a plan exists, and the bytes that it frees or adds (none for a constraint given up)."""

    bytes: int
    change: str


def fits(request: Request) -> bool:
    """Whether some plan holds the tables."""
    try:
        prepared = prepare(
            request.tables,
            request.cluster,
            batch_per_rank=request.batch_per_rank,
            constraints=request.constraints,
            costs=request.costs,
        )
    except InputError:
        return False
    if prepared.homeless_units:
        return False
    problem = prepared.problem
    least_U = np.minimum.reduceat(problem.options.total_bytes_OT.sum(axis=1), problem.start_U1[:-1])
    if least_U.sum() > problem.capacities.total_T.sum():
        return False
    return isinstance(first_fit(problem), Assignment)


def find_remedies(request: Request) -> tuple[Remedy, ...]:
    """Changes that would fit, the smallest first.

    Other dtypes, optimizers and node counts are tried with the default costs only: others may not know their prices.
    """
    found = [*_without_constraints(request), *_with_more_memory(request)]
    if isinstance(request.costs, RooflineCosts):
        halves = [table for table in request.tables if table.dtype == "float32"]
        found += _with_smaller_tables(request, "dtype float16", halves, lambda table: replace(table, dtype="float16"))
        states = [table for table in request.tables if table.optimizer in {"adagrad", "adam"}]
        found += _with_smaller_tables(
            request, "optimizer rowwise_adagrad", states, lambda table: replace(table, optimizer="rowwise_adagrad")
        )
        found += _with_more_nodes(request)
    return tuple(sorted(found))


def _without_constraints(request: Request) -> Iterator[Remedy]:
    for index, constraint in enumerate(request.constraints[:_MOST_CONSTRAINTS]):
        rest = (*request.constraints[:index], *request.constraints[index + 1 :])
        if fits(replace(request, constraints=rest)):
            yield Remedy(0, f"giving up the constraint on {constraint}")


def _with_smaller_tables(
    request: Request,
    change: str,
    tables: Sequence[EmbeddingTable],
    changed: Callable[[EmbeddingTable], EmbeddingTable],
) -> Iterator[Remedy]:
    """The change for the fewest of the tables, those that save most first."""
    eligible = sorted(tables, key=lambda table: changed(table).total_bytes - table.total_bytes)

    def with_first(count: int) -> Request:
        names = {table.name for table in eligible[:count]}
        tables = (changed(table) if table.name in names else table for table in request.tables)
        return replace(request, tables=tuple(tables))

    count = _least_integer(lambda count: fits(with_first(count)), len(eligible)) if eligible else None
    if count is not None:
        freed = sum(table.total_bytes - changed(table).total_bytes for table in eligible[:count])
        names = ", ".join(table.name for table in eligible[: min(count, 3)])
        listed = names if count <= 3 else f"the {count} largest such tables ({names}, ...)"
        yield Remedy(freed, f"{change} for {listed} (frees {format_bytes(freed)})")


def _with_more_nodes(request: Request) -> Iterator[Remedy]:
    cluster = request.cluster

    def with_more(count: int) -> Request:
        return replace(request, cluster=cluster.with_nodes(cluster.nodes + count))

    count = _least_integer(lambda count: fits(with_more(count)), cluster.nodes * _MOST_NODES_FACTOR)
    if count is not None:
        per_node = sum(tier.bytes * (1 if tier.per_host else cluster.devices_per_node) for tier in cluster.tiers)
        added = count * per_node
        yield Remedy(added, f"{cluster.nodes + count} nodes instead of {cluster.nodes} (adds {format_bytes(added)})")


def _with_more_memory(request: Request) -> Iterator[Remedy]:
    """For each tier the least memory that fits, to within a few parts in a thousand."""
    for tier in request.cluster.tiers:
        low, high = 1.0, 2.0
        while high <= _MOST_MEMORY_FACTOR and not fits(_scaled(request, tier.name, high)):
            low, high = high, high * 2
        if high > _MOST_MEMORY_FACTOR or not tier.bytes:
            continue
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if fits(_scaled(request, tier.name, middle)) else (middle, high)
        count = request.cluster.nodes if tier.per_host else request.cluster.ranks
        added = round(tier.bytes * high) - tier.bytes
        has = tier.bytes + _reserved(request, tier)
        yield Remedy(
            added * count,
            f"{format_bytes(has + added)} ({has + added:,} bytes) of {tier.name} per "
            f"{'host' if tier.per_host else 'device'} instead of {format_bytes(has)} (adds "
            f"{format_bytes(added * count)} in all)",
        )


def _reserved(request: Request, tier: MemoryTier) -> int:
    """What the cluster's own tier has beside."""
    if tier != request.cluster.tiers[0]:
        return 0
    return math.ceil(request.reserved_bytes) * (request.cluster.devices_per_node if tier.per_host else 1)


def _scaled(request: Request, tier: str, factor: float) -> Request:
    tiers = (replace(t, bytes=round(t.bytes * factor)) if t.name == tier else t for t in request.cluster.tiers)
    return replace(request, cluster=replace(request.cluster, tiers=tuple(tiers)))


def _least_integer(holds: Callable[[int], bool], most: int) -> int | None:
    """The least count from 1 on for which it holds, found by doubling and halving; None up to `most`."""
    low, high = 0, 1
    while not holds(min(high, most)):
        if high >= most:
            return None
        low, high = high, high * 2
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
