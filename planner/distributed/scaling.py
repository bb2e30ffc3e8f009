"""Throughput over the number of nodes, the batch of a device being the same (weak scaling)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planner.distributed.cluster import Cluster
from planner.distributed.hbm_cache import IdReuse
from planner.distributed.iteration.component_times import ComponentTimes
from planner.distributed.iteration.iteration_time import IterationTime
from planner.distributed.iteration.model import predict_iteration
from planner.distributed.iteration.training_job import TrainingJob
from planner.distributed.plan import ShardingPlan
from planner.distributed.whatif import PlanTables, Scenario, planned
from profiles.errors import InputError

__all__ = ["ScalingPoint", "rows_scaled", "scaling_curve"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalingPoint:
    """One number of nodes; `efficiency` is the throughput of a device over that on the fewest nodes of the curve."""

    nodes: int
    efficiency: float
    plan: ShardingPlan
    time: IterationTime


def rows_scaled(job: TrainingJob, share: float) -> TrainingJob:
    """The job with `share` of the rows of every table, at least one."""
    tables = tuple(replace(table, rows=max(1, round(table.rows * share))) for table in job.tables)
    return replace(job, tables=tables)


def scaling_curve(
    job: TrainingJob,
    cluster: Cluster,
    nodes: Sequence[int] = (1, 2, 4, 8, 16),
    *,
    plan: PlanTables = planned,
    shrink_rows: bool = False,
    times: ComponentTimes | None = None,
    reuse: Mapping[str, IdReuse] | None = None,
) -> tuple[ScalingPoint, ...]:
    """The job on so many nodes of the cluster's kind, each planned anew, ascending.

    `shrink_rows` gives n nodes n / (most nodes) of the rows, so that what fits many fits few: look-ups and messages
    stay the same, for they do not depend on rows.

    Raises:
        InputError: no number of nodes, or one below 1.
        InfeasibleError: the tables do not fit so few nodes.
    """
    if not nodes or min(nodes) < 1:
        raise InputError(f"nodes: must be one or more numbers >= 1, but got {list(nodes)}")
    points: list[ScalingPoint] = []
    for count in sorted(set(nodes)):
        one = rows_scaled(job, count / max(nodes)) if shrink_rows else job
        scenario = Scenario(job=one, cluster=cluster.with_nodes(count))
        placed = plan(scenario)
        time = predict_iteration(one, placed, times=times, reuse=reuse)
        first = points[0].time if points else time
        efficiency = (time.qps / time.cluster.ranks) / (first.qps / first.cluster.ranks)
        points.append(ScalingPoint(nodes=count, efficiency=efficiency, plan=placed, time=time))
    return tuple(points)
