"""What an iteration takes: the tasks of all ranks scheduled, and accounts of the time."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from planner.distributed.cluster import Cluster
from planner.distributed.hbm_cache import IdReuse
from planner.distributed.iteration.component_times import ComponentTimes
from planner.distributed.iteration.device_memory import device_memory
from planner.distributed.iteration.embedding_traffic import embedding_traffic
from planner.distributed.iteration.iteration_tasks import (
    COMPUTE_STREAMS,
    HOST_STREAM,
    NETWORK_STREAMS,
    IterationTasks,
    iteration_tasks,
)
from planner.distributed.iteration.iteration_time import IterationTime, PhaseTime
from planner.distributed.iteration.task_graph import Schedule, schedule_tasks
from planner.distributed.iteration.training_job import BYTES_PER_NUMBER, TrainingJob
from planner.distributed.plan import ShardingPlan
from profiles.errors import InputError
from profiles.units import MS_PER_S

__all__ = ["on_cluster", "predict_iteration"]

# What a transfer may hide behind.
_HIDDEN_BY = {
    **dict.fromkeys(NETWORK_STREAMS, COMPUTE_STREAMS),
    HOST_STREAM: (*COMPUTE_STREAMS, *NETWORK_STREAMS),
}


def predict_iteration(
    job: TrainingJob,
    plan: ShardingPlan,
    cluster: Cluster | None = None,
    *,
    times: ComponentTimes | None = None,
    reuse: Mapping[str, IdReuse] | None = None,
) -> IterationTime:
    """The time of one iteration of the job with its tables placed by the plan.

    `cluster` puts the plan as it stands on another cluster of as many ranks. `times` are measured times of layers and
    tables. `reuse` says by table how soon its ids come back, for tables outside the fastest memory. The batch is the
    job's, whatever the plan was made for.

    Raises:
        InputError: the plan places other tables than the job has, or the cluster has other ranks or tiers.
    """
    if cluster is not None:
        plan = on_cluster(plan, cluster)
    _check_tables(job, plan)
    traffic = embedding_traffic(
        plan,
        job.batch_per_rank,
        forward_bytes=BYTES_PER_NUMBER[job.forward_dtype],
        backward_bytes=BYTES_PER_NUMBER[job.backward_dtype],
        reserved_bytes=device_memory(job).total_bytes,
        reuse=reuse,
    )
    issued = iteration_tasks(job, plan, traffic, times)
    schedule = schedule_tasks(issued.tasks)
    waiting_s_R = schedule.waiting_s(COMPUTE_STREAMS)
    exposed_s_R = schedule.exposed_s(NETWORK_STREAMS, COMPUTE_STREAMS)
    return IterationTime(
        job=job,
        cluster=plan.cluster,
        iteration_ms=schedule.seconds * MS_PER_S,
        phases=_phases(schedule, issued),
        exposed_comm_ms=float(exposed_s_R.mean()) * MS_PER_S,
        exposed_host_ms=float(schedule.exposed_s((HOST_STREAM,), (*COMPUTE_STREAMS, *NETWORK_STREAMS)).mean())
        * MS_PER_S,
        waiting_ms=float(waiting_s_R.mean()) * MS_PER_S,
        hit_rates=traffic.hit_rates,
        schedule=schedule,
    )


def on_cluster(plan: ShardingPlan, cluster: Cluster) -> ShardingPlan:
    """The plan on another cluster of as many nodes and devices, its costs left as they were.

    Raises:
        InputError: another number of nodes or devices, or a tier is missing there.
    """
    ours, theirs = ((one.nodes, one.devices_per_node) for one in (plan.cluster, cluster))
    if ours != theirs:
        raise InputError(
            f"cluster {cluster.name}: the plan is for {ours[0]} x {ours[1]} devices, not {theirs[0]} x {theirs[1]}"
        )
    return replace(plan, cluster=cluster)


def _check_tables(job: TrainingJob, plan: ShardingPlan) -> None:
    placed = {table.name: table for table in plan.tables}
    if missing := [table.name for table in job.tables if table.name not in placed]:
        raise InputError(f"plan: does not place {', '.join(missing[:5])} of job {job.name}")
    wanted = {table.name: table for table in job.tables}
    if foreign := [name for name in placed if name not in wanted]:
        raise InputError(f"plan: places {', '.join(foreign[:5])}, which job {job.name} does not have")
    if differing := [name for name, table in wanted.items() if placed[name] != table]:
        raise InputError(f"plan: places another table of the name {differing[0]} than job {job.name} has")


def _phases(schedule: Schedule, issued: IterationTasks) -> tuple[PhaseTime, ...]:
    """One per task, but buckets of one stack together."""
    critical: dict[str, float] = {}
    for step in schedule.critical_path():
        critical[step.task] = critical.get(step.task, 0.0) + step.end_s - step.start_s
    found: dict[str, PhaseTime] = {}
    for i, task in enumerate(issued.tasks):
        taken_s_R = schedule.end_s_TR[i] - schedule.start_s_TR[i]
        hidden_by = _HIDDEN_BY.get(task.stream)
        exposed_s = 0.0 if hidden_by is None else float(schedule.exposed_task_s(task.name, hidden_by).mean())
        one = PhaseTime(
            name=_stem(task.name),
            phase=task.phase,
            stream=task.stream,
            mean_ms=float(np.mean(task.seconds_R)) * MS_PER_S,
            max_ms=float(taken_s_R.max()) * MS_PER_S,
            exposed_ms=exposed_s * MS_PER_S,
            critical_ms=critical.get(task.name, 0.0) * MS_PER_S,
            limit=issued.limits[task.name],
            provenance=issued.provenance[task.name],
        )
        found[one.name] = found[one.name].joined(one) if one.name in found else one
    return tuple(found.values())


def _stem(name: str) -> str:
    """The name without the number of its bucket."""
    stem, _, number = name.rpartition(" ")
    return stem if "/" in number and number.replace("/", "").isdigit() else name
