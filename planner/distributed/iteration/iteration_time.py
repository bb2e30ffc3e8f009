"""The answer of the iteration model: the time, what it consists of, and who waits for whom."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from planner.distributed.cluster import Cluster
from planner.distributed.iteration.component_times import Limit, Provenance
from planner.distributed.iteration.iteration_tasks import COMPUTE_STREAMS, NETWORK_STREAMS
from planner.distributed.iteration.task_graph import Schedule
from planner.distributed.iteration.training_job import TrainingJob
from profiles.units import MS_PER_S, SECONDS_PER_HOUR

__all__ = ["IterationTime", "PhaseTime"]

Rows = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseTime:
    """One kind of task: its mean over ranks, its longest, what no computation hides, its part of the critical path.

    `limit` is the resource that sets its time; `provenance` says whether layers were measured.
    """

    name: str
    phase: str
    stream: str
    mean_ms: float
    max_ms: float
    exposed_ms: float
    critical_ms: float
    limit: Limit
    provenance: Provenance

    def joined(self, other: "PhaseTime") -> "PhaseTime":
        """Both one after the other, as one."""
        return replace(
            self,
            mean_ms=self.mean_ms + other.mean_ms,
            max_ms=self.max_ms + other.max_ms,
            exposed_ms=self.exposed_ms + other.exposed_ms,
            critical_ms=self.critical_ms + other.critical_ms,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class IterationTime:
    """One iteration on all ranks.

    `exposed_comm_ms` is the mean over ranks of the time in which a transfer runs and no computation does, `waiting_ms`
    that in which a rank only waits for others to come to a collective (imbalance), and `exposed_host_ms` that in which
    only the host link is busy. `hit_rates` are those of cached tables.
    """

    job: TrainingJob
    cluster: Cluster
    iteration_ms: float
    phases: tuple[PhaseTime, ...]
    exposed_comm_ms: float
    exposed_host_ms: float
    waiting_ms: float
    hit_rates: Mapping[str, float]
    schedule: Schedule = field(repr=False, compare=False)

    @property
    def samples(self) -> int:
        """The global batch."""
        return self.job.batch_per_rank * self.cluster.ranks

    @property
    def qps(self) -> float:
        """Samples per second."""
        return self.samples / self.iteration_ms * MS_PER_S

    @property
    def exposed_comm_share(self) -> float:
        """The exposed transfers as a share of the iteration."""
        return self.exposed_comm_ms / self.iteration_ms

    @property
    def serial_comm_ms(self) -> float:
        """All transfers one after the other."""
        return sum(phase.max_ms for phase in self.phases if phase.stream in NETWORK_STREAMS)

    @property
    def hidden_comm_share(self) -> float:
        """What of all transfers computation hides; 1 where there are none."""
        return 1 - self.exposed_comm_ms / self.serial_comm_ms if self.serial_comm_ms else 1.0

    @property
    def compute_ms(self) -> float:
        """The mean over ranks of the time in which some computation runs."""
        return float(self.schedule.busy_s(COMPUTE_STREAMS).mean()) * MS_PER_S

    @property
    def cost_per_million_samples(self) -> float | None:
        """The price of a million samples; None where devices have no price."""
        price = self.cluster.price_per_device_hour
        return None if price is None else price * self.cluster.ranks / SECONDS_PER_HOUR / self.qps * 1e6

    def phase(self, name: str) -> PhaseTime | None:
        """The phase of that name, None where there is none."""
        return next((phase for phase in self.phases if phase.name == name), None)

    def critical_rows(self) -> Rows:
        """`task, rank, start_ms, end_ms` of the chain that sets the time, the first one first."""
        return [
            {
                "task": step.task,
                "rank": step.rank,
                "start_ms": step.start_s * MS_PER_S,
                "end_ms": step.end_s * MS_PER_S,
            }
            for step in self.schedule.critical_path()
        ]

    def timeline_rows(self, ranks: tuple[int, ...] | None = None) -> Rows:
        """`rank, task, phase, stream, ready_ms, start_ms, end_ms, waiting_ms, is_critical`, of some or all ranks."""
        critical = {(step.task, step.rank) for step in self.schedule.critical_path()}
        chosen = range(self.cluster.ranks) if ranks is None else ranks
        return [
            {
                "rank": rank,
                "task": task.name,
                "phase": task.phase,
                "stream": task.stream,
                "ready_ms": float(self.schedule.ready_s_TR[i, rank]) * MS_PER_S,
                "start_ms": float(self.schedule.start_s_TR[i, rank]) * MS_PER_S,
                "end_ms": float(self.schedule.end_s_TR[i, rank]) * MS_PER_S,
                "waiting_ms": float(self.schedule.start_s_TR[i, rank] - self.schedule.ready_s_TR[i, rank]) * MS_PER_S,
                "is_critical": (task.name, rank) in critical,
            }
            for rank in chosen
            for i, task in enumerate(self.schedule.tasks)
        ]

    def to_object(self) -> dict[str, Any]:
        """The JSON form, without the timeline."""
        return {
            "iteration_ms": self.iteration_ms,
            "qps": self.qps,
            "samples": self.samples,
            "exposed_comm_ms": self.exposed_comm_ms,
            "exposed_comm_share": self.exposed_comm_share,
            "exposed_host_ms": self.exposed_host_ms,
            "waiting_ms": self.waiting_ms,
            "compute_ms": self.compute_ms,
            "serial_comm_ms": self.serial_comm_ms,
            "hidden_comm_share": self.hidden_comm_share,
            "cost_per_million_samples": self.cost_per_million_samples,
            "hit_rates": dict(self.hit_rates),
            "phases": [asdict(phase) for phase in self.phases],
            "critical_path": self.critical_rows(),
        }
