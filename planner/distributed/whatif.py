"""Changes of a training job or its cluster, and what an iteration takes after each.

A change is a function of a scenario (job and cluster) to another one. `what_if` plans and predicts each beside the
scenario as it is.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.distributed.cluster import Cluster
from planner.distributed.hbm_cache import IdReuse
from planner.distributed.iteration.component_times import ComponentTimes
from planner.distributed.iteration.dense_stack import DenseStack
from planner.distributed.iteration.device_memory import device_memory
from planner.distributed.iteration.iteration_time import IterationTime
from planner.distributed.iteration.model import predict_iteration
from planner.distributed.iteration.training_job import CollectiveDtype, TrainingJob
from planner.distributed.plan import ShardingPlan
from planner.distributed.plan_difference import difference_of_phases
from planner.distributed.shard_costs import RooflineCosts
from planner.distributed.sharding import plan_sharding
from planner.distributed.tables import EmbeddingTable, TableDtype
from profiles.errors import InfeasibleError, InputError, UnknownNameError
from representations.specs import DheSpec

__all__ = [
    "Change",
    "Outcome",
    "PlanTables",
    "Scenario",
    "outcome_rows",
    "planned",
    "what_if",
    "with_batch",
    "with_collectives",
    "with_dhe",
    "with_network",
    "with_nodes",
    "with_table_dtype",
    "with_tier",
    "with_transfers",
    "without_tables",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """A job on a cluster."""

    job: TrainingJob
    cluster: Cluster


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """A scenario, how its tables were placed, and what an iteration takes."""

    name: str
    scenario: Scenario
    plan: ShardingPlan
    time: IterationTime


Change = Callable[[Scenario], Scenario]
PlanTables = Callable[[Scenario], ShardingPlan]


def planned(scenario: Scenario) -> ShardingPlan:
    """The plan of the scenario's tables by the default costs, with numbers travelling as the job has them."""
    job, cluster = scenario.job, scenario.cluster
    if not job.tables:
        return without_tables(scenario)
    costs = RooflineCosts(forward_dtype=job.forward_dtype, backward_dtype=job.backward_dtype)
    return plan_sharding(
        job.tables,
        cluster,
        batch_per_rank=job.batch_per_rank,
        costs=costs,
        reserved_bytes=device_memory(job).total_bytes,
    )


def without_tables(scenario: Scenario) -> ShardingPlan:
    """The plan of a scenario in which there is nothing to place."""
    return ShardingPlan(
        cluster=scenario.cluster,
        batch_per_rank=scenario.job.batch_per_rank,
        placements=(),
        rank_ms=(0.0,) * scenario.cluster.ranks,
        lower_bound_ms=0.0,
        bound_kind="there are no tables",
    )


def what_if(
    scenario: Scenario,
    changes: Mapping[str, Change],
    *,
    plan: PlanTables = planned,
    times: ComponentTimes | None = None,
    reuse: Mapping[str, IdReuse] | None = None,
) -> tuple[Outcome, ...]:
    """The scenario as it is (`as it is`), then after each change by itself; every one is planned anew by `plan`.

    `times` and `reuse` are those of `predict_iteration`. An error of a change's plan names the change.
    """
    scenarios = {"as it is": scenario, **{name: change(scenario) for name, change in changes.items()}}
    outcomes = []
    for name, one in scenarios.items():
        try:
            placed = plan(one)
        except InputError as error:
            if one is scenario:
                raise
            kind = InfeasibleError if isinstance(error, InfeasibleError) else InputError
            raise kind(f"what-if {name}: {error}") from error
        time = predict_iteration(one.job, placed, times=times, reuse=reuse)
        outcomes.append(Outcome(name=name, scenario=one, plan=placed, time=time))
    return tuple(outcomes)


def outcome_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A row for each: `name, ranks, iteration_ms, qps, qps_change, exposed_comm_share, waiting_ms` and the phase that
    changed most against the first one.
    """
    first = outcomes[0].time
    rows = []
    for one in outcomes:
        changes = difference_of_phases(first, one.time)
        most = max(changes, key=lambda row: abs(row["change_ms"]), default=None)
        rows.append(
            {
                "name": one.name,
                "ranks": one.scenario.cluster.ranks,
                "iteration_ms": one.time.iteration_ms,
                "qps": one.time.qps,
                "qps_change": one.time.qps / first.qps - 1,
                "exposed_comm_share": one.time.exposed_comm_share,
                "waiting_ms": one.time.waiting_ms,
                "most_changed": most["name"] if most and most["change_ms"] else None,
            }
        )
    return rows


def with_batch(batch_per_rank: int) -> Change:
    """Another batch on every rank."""
    return lambda one: replace(one, job=replace(one.job, batch_per_rank=batch_per_rank))


def with_collectives(forward: CollectiveDtype, backward: CollectiveDtype) -> Change:
    """Another precision of pooled embeddings and of their gradients on the network."""
    return lambda one: replace(one, job=replace(one.job, forward_dtype=forward, backward_dtype=backward))


def with_table_dtype(dtype: TableDtype) -> Change:
    """Tables in another precision."""
    return lambda one: replace(
        one, job=replace(one.job, tables=tuple(replace(table, dtype=dtype) for table in one.job.tables))
    )


def with_nodes(nodes: int) -> Change:
    """Another number of nodes, the batch of a rank as it is."""
    return lambda one: replace(one, cluster=one.cluster.with_nodes(nodes))


def with_network(factor: float) -> Change:
    """So many times the bandwidth between nodes."""
    return lambda one: replace(one, cluster=replace(one.cluster, inter=one.cluster.inter.faster(factor)))


def with_transfers(*, in_turn: bool) -> Change:
    """Transfers one after the other, as those of one communicator run, or beside one another."""
    return lambda one: replace(one, job=replace(one.job, is_network_shared=in_turn))


def with_tier(name: str, **figures: Any) -> Change:
    """Other figures of one memory tier: `with_tier("ddr", bytes=..., bandwidth_bytes_per_s=...)`.

    The change raises an `UnknownNameError` where the cluster has no such tier.
    """

    def changed(one: Scenario) -> Scenario:
        tier = replace(one.cluster.tier(name), **figures)
        tiers = tuple(tier if old.name == name else old for old in one.cluster.tiers)
        return replace(one, cluster=replace(one.cluster, tiers=tiers))

    return changed


def with_dhe(spec: DheSpec, tables: Collection[str] | None = None) -> Change:
    """Tables replaced by deep hash embeddings that every rank runs on its own ids; all of them, or those named.

    Their decoders are dense: all-reduced, and run on `pooling` ids per sample. Each feature has one of its own, of the
    width of its table.
    """

    def changed(one: Scenario) -> Scenario:
        known = [table.name for table in one.job.tables]
        for name in tables or ():
            if name not in known:
                raise UnknownNameError("tables", name, known)
        replaced = [table for table in one.job.tables if tables is None or table.name in tables]
        if not replaced:
            raise InputError("tables: there is none to replace by a DHE")
        names = {table.name for table in replaced}
        kept = tuple(table for table in one.job.tables if table.name not in names)
        ids = sum(table.pooling for table in replaced)
        job = replace(
            one.job,
            tables=kept,
            per_id=_joined(one.job.per_id, *(_decoder(spec, table) for table in replaced)),
            local_ids_per_sample=one.job.local_ids_per_sample + ids,
        )
        return replace(one, job=job)

    return changed


def _decoder(spec: DheSpec, table: EmbeddingTable) -> DenseStack:
    layers = replace(spec, dim=table.dim).layers
    return DenseStack(
        flops_per_sample=table.pooling * 2.0 * sum(a * b for a, b in layers),
        parameters=sum((a + 1) * b for a, b in layers),
        layers=len(layers),
        # Encodings are written as well as read.
        activations_per_sample=table.pooling * (spec.k + sum(a + b for a, b in layers)),
    )


def _joined(*stacks: DenseStack) -> DenseStack:
    return DenseStack(
        flops_per_sample=sum(stack.flops_per_sample for stack in stacks),
        parameters=sum(stack.parameters for stack in stacks),
        layers=sum(stack.layers for stack in stacks),
        activations_per_sample=sum(stack.activations_per_sample for stack in stacks),
    )
