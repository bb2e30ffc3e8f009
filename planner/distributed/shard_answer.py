"""All that `recplan shard` finds out, and its JSON form."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from planner.distributed.change_text import change_from_text
from planner.distributed.comms.job import CommsJob, message_sizes
from planner.distributed.comms.launching import benchmark_comms
from planner.distributed.comms.plan_calls import plan_calls
from planner.distributed.comms.result import CommsResult, ReplayedCall, measured_cluster, replay_beside_predicted
from planner.distributed.interop.comparison import PlannerRow
from planner.distributed.interop.runnable import RunnableCosts
from planner.distributed.iteration.device_memory import device_memory
from planner.distributed.iteration.iteration_time import IterationTime
from planner.distributed.iteration.training_job import TrainingJob
from planner.distributed.plan import ShardingPlan
from planner.distributed.plan_difference import difference_of_phases, difference_of_plans
from planner.distributed.scaling import ScalingPoint, scaling_curve
from planner.distributed.sensitivity import Sensitivity, sensitivity
from planner.distributed.shard_costs import RooflineCosts, ShardCosts
from planner.distributed.shard_request import ShardRequest
from planner.distributed.sharding import plan_sharding
from planner.distributed.tables import total_bytes
from planner.distributed.whatif import Outcome, Scenario, outcome_rows, what_if, without_tables
from profiles.errors import InputError

__all__ = ["ShardAnswer", "answer_request", "measure_network", "memory_rows", "scheme_rows", "with_outlook"]

Rows = list[dict[str, Any]]
_MOST_CHANGES = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardAnswer:
    """The plan and its iteration as they are (first of `outcomes`), after each what-if, and what was asked beside."""

    request: ShardRequest
    outcomes: tuple[Outcome, ...]
    scaling: tuple[ScalingPoint, ...] = ()
    sensitivity: tuple[Sensitivity, ...] = ()
    planners: tuple[PlannerRow, ...] = ()
    comms: CommsResult | None = None
    replayed: tuple[ReplayedCall, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def plan(self) -> ShardingPlan:
        """Where the tables lie."""
        return self.outcomes[0].plan

    @property
    def time(self) -> IterationTime:
        """What an iteration takes."""
        return self.outcomes[0].time

    def to_object(self) -> dict[str, Any]:
        """The JSON form."""
        plan, time = self.plan, self.time
        return {
            "name": self.request.name,
            "cluster": plan.cluster.name,
            "tables": len(plan.placements),
            "ranks": plan.cluster.ranks,
            "nodes": plan.cluster.nodes,
            "batch_per_rank": plan.batch_per_rank,
            "table_bytes": total_bytes(plan.tables),
            "plan_seconds": plan.plan_seconds,
            "slowest_ms": plan.slowest_ms,
            "lower_bound_ms": plan.lower_bound_ms,
            "bound_kind": plan.bound_kind,
            "max_over_mean": plan.max_over_mean,
            "max_over_lower_bound": plan.max_over_lower_bound,
            "schemes": scheme_rows(plan),
            "memory": memory_rows(plan, self.outcomes[0].scenario.job),
            "device_memory": asdict(device_memory(self.outcomes[0].scenario.job)),
            "iteration_ms": time.iteration_ms,
            "qps": time.qps,
            "exposed_comm_share": time.exposed_comm_share,
            "iteration": time.to_object(),
            "what_ifs": [self._what_if(row, one) for row, one in zip(self.rows(), self.outcomes, strict=True)][1:],
            "scaling": [_scaling(point) for point in self.scaling],
            "sensitivity": [{**asdict(one), "elasticity": one.elasticity} for one in self.sensitivity],
            "planners": [row.to_object() for row in self.planners],
            "comms": None if self.comms is None else self.comms.to_object(),
            "replayed": [{**asdict(row), "error": row.error} for row in self.replayed],
            "assumptions": list(plan.assumptions),
            "notes": list(self.notes),
        }

    def rows(self) -> Rows:
        """A row for the plan as it is, and one for each what-if."""
        return outcome_rows(self.outcomes)

    def _what_if(self, row: dict[str, Any], one: Outcome) -> dict[str, Any]:
        moved = difference_of_plans(self.plan, one.plan)
        return {
            **row,
            "phases": difference_of_phases(self.time, one.time),
            "tables_moved": len(moved),
            "tables": moved[:_MOST_CHANGES],
        }


def answer_request(request: ShardRequest) -> ShardAnswer:
    """Plan, predict, and do both again for each what-if.

    Raises:
        InputError: a bad what-if, or a plan that is not feasible; names what is wrong.
    """
    changes = {text: change_from_text(text) for text in request.what_if}
    outcomes = what_if(
        request.scenario,
        changes,
        plan=lambda one: planned_under(request, one),
        times=request.times,
        reuse=request.reuse,
    )
    return ShardAnswer(request=request, outcomes=outcomes, notes=request.notes)


def planned_under(request: ShardRequest, scenario: Scenario) -> ShardingPlan:
    """The scenario's tables placed under those of the request's constraints that name one of them."""
    job = scenario.job
    reserved_bytes = device_memory(job).total_bytes
    if not job.tables:
        # Decoders take memory too.
        scenario.cluster.with_reserved(reserved_bytes)
        return without_tables(scenario)
    kept = [one for one in request.constraints if any(one.matches(table.name) for table in job.tables)]
    costs: ShardCosts = RooflineCosts(forward_dtype=job.forward_dtype, backward_dtype=job.backward_dtype)
    # What names no table at all is a mistake, unless a what-if has taken the table away.
    is_asked = len(job.tables) == len(request.scenario.job.tables)
    return plan_sharding(
        job.tables,
        scenario.cluster,
        batch_per_rank=job.batch_per_rank,
        constraints=request.constraints if is_asked else kept,
        costs=RunnableCosts(inner=costs) if request.for_torchrec else costs,
        reserved_bytes=reserved_bytes,
    )


def with_outlook(answer: ShardAnswer) -> ShardAnswer:
    """The answer with its throughput over nodes, each planned anew, and how much each hardware constant matters."""
    scenario = answer.request.scenario
    counts = [1]
    while counts[-1] * 2 < scenario.cluster.nodes:
        counts.append(counts[-1] * 2)
    notes = answer.notes
    curve: tuple[ScalingPoint, ...] = ()
    try:
        curve = scaling_curve(
            scenario.job,
            scenario.cluster,
            [*counts, scenario.cluster.nodes],
            plan=lambda one: planned_under(answer.request, one),
            shrink_rows=True,
            times=answer.request.times,
            reuse=answer.request.reuse,
        )
    except InputError as error:
        notes = (*notes, f"no scaling curve: {error}")
    request = answer.request
    worth = sensitivity(scenario.job, answer.plan, times=request.times, reuse=request.reuse)
    return replace(answer, scaling=curve, sensitivity=worth, notes=notes)


def measure_network(request: ShardRequest, *, repeats: int = 10) -> tuple[ShardRequest, CommsResult]:
    """The request on its cluster as its network is measured here, and the measurement.

    Fixed sizes first; then the very messages of one iteration of a plan on the network as it was described.

    Raises:
        InputError: the cluster is not one machine's.
        MeasurementError: a rank failed.
    """
    cluster = request.scenario.cluster
    if cluster.nodes > 1:
        raise InputError(
            f"comms: cluster {cluster.name} has {cluster.nodes} nodes, of which this machine is none or one; measure "
            "it there with `torchrun -m planner.distributed.comms --out FILE`, and give the file with --comms FILE"
        )
    job = request.scenario.job
    calls = plan_calls(job, planned_under(request, request.scenario))
    most = max([2**20, *(call.message_bytes for call in calls)])
    result = benchmark_comms(
        CommsJob(fixed=message_sizes(1024, 4 * most), replay=calls, repeats=repeats), ranks=cluster.ranks
    )
    scenario = replace(request.scenario, cluster=measured_cluster(cluster, result))
    return replace(request, scenario=scenario), result


def with_comms(answer: ShardAnswer, described: ShardRequest, result: CommsResult) -> ShardAnswer:
    """The answer with what was measured, and the replayed calls beside what the fixed sizes predict for them."""
    cluster = described.scenario.cluster
    measured, devices = (result.nodes, result.devices_per_node), cluster.devices_per_node
    notes = answer.notes
    if measured not in {(1, devices), (cluster.nodes, devices)}:
        unused = (
            f"the network was measured on {result.nodes} x {result.devices_per_node} ranks, over which no collective "
            f"of {cluster.nodes} x {devices} runs: it was not used"
        )
        notes = (*notes, unused)
    return replace(answer, comms=result, replayed=replay_beside_predicted(cluster, result), notes=notes)


def scheme_rows(plan: ShardingPlan) -> Rows:
    """`scheme, tables, shards, bytes` of each scheme that is used, the one with the most bytes first."""
    counts: dict[str, Counter[str]] = {}
    for placement in plan.placements:
        row = counts.setdefault(placement.scheme, Counter())
        row["tables"] += 1
        row["shards"] += len(placement.shards)
        row["bytes"] += sum(placement.table.piece_bytes(one.rows, one.columns) for one in placement.shards)
    rows: Rows = [{"scheme": scheme, **row} for scheme, row in counts.items()]
    return sorted(rows, key=lambda row: -row["bytes"])


def memory_rows(plan: ShardingPlan, job: TrainingJob) -> Rows:
    """`tier, held_bytes, tier_bytes, fullest_bytes, other_bytes, device_bytes` of each tier of the cluster.

    `other_bytes` are what layers, activations and buffers take on each device beside the tables.
    """
    other_bytes = round(device_memory(job).total_bytes)
    return [
        {
            "tier": tier.name,
            "held_bytes": int(plan.rank_bytes(tier.name).sum()),
            "tier_bytes": plan.cluster.tier_bytes(tier.name),
            "fullest_bytes": int(plan.rank_bytes(tier.name).max()),
            "other_bytes": 0 if place else other_bytes,
            "device_bytes": tier.bytes // (plan.cluster.devices_per_node if tier.per_host else 1),
        }
        for place, tier in enumerate(plan.cluster.tiers)
    ]


def _scaling(point: ScalingPoint) -> dict[str, Any]:
    return {
        "nodes": point.nodes,
        "ranks": point.time.cluster.ranks,
        "qps": point.time.qps,
        "efficiency": point.efficiency,
        "iteration_ms": point.time.iteration_ms,
        "exposed_comm_share": point.time.exposed_comm_share,
    }


def compared(answer: ShardAnswer, rows: Sequence[PlannerRow]) -> ShardAnswer:
    """The answer with other planners beside ours."""
    return replace(answer, planners=tuple(rows))
