"""The tasks of one iteration on every rank, in the order in which each stream gets them (Mudigere et al., section 4).

One period of a loop that goes on for ever: where inputs are pipelined, those of the next iteration are copied,
distributed and fetched beside the tasks of this one. Shape suffix R: ranks.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.distributed.input_distribution import ID_BYTES, LENGTH_BYTES
from planner.distributed.iteration.component_times import (
    ComponentTimes,
    Cost,
    DenseCosts,
    Limit,
    Provenance,
    roofline_cost,
)
from planner.distributed.iteration.dense_stack import DenseStack
from planner.distributed.iteration.embedding_traffic import EmbeddingTraffic, Message
from planner.distributed.iteration.table_times import with_measured_tables
from planner.distributed.iteration.task_graph import Task
from planner.distributed.iteration.training_job import BYTES_PER_NUMBER, TrainingJob
from planner.distributed.network import collective_seconds
from planner.distributed.plan import ShardingPlan
from profiles.errors import InputError

__all__ = ["COMPUTE_STREAMS", "HOST_STREAM", "NETWORK_STREAMS", "IterationTasks", "iteration_tasks"]

Floats = NDArray[np.float64]
_DENSE, _LOOKUP, HOST_STREAM = "dense", "look-ups", "host link"
_EXCHANGE, _REDUCE, _DISTRIBUTE = "exchange", "reduce", "input exchange"
COMPUTE_STREAMS = (_DENSE, _LOOKUP)
NETWORK_STREAMS = (_EXCHANGE, _REDUCE, _DISTRIBUTE)
FORWARD, BACKWARD, INPUT, UPDATE = "forward", "backward", "input", "update"
_FLOAT_BYTES = 4
# Of each collective, of all ranks or (True) in every node.
_INPUT_NAMES = {("all_to_all", False): "distribute ids", ("all_gather", True): "copy ids in nodes"}
_FORWARD_NAMES = {
    ("all_to_all", False): "AlltoAll",
    ("reduce_scatter", False): "reduce-scatter",
    ("reduce_scatter", True): "reduce-scatter in nodes",
}
_BACKWARD_NAMES = {
    ("all_to_all", False): "AlltoAll of gradients",
    ("all_gather", False): "all-gather of gradients",
    ("all_gather", True): "all-gather of gradients in nodes",
    ("all_reduce", False): "AllReduce of replicated tables",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class IterationTasks:
    """Tasks in order; by name what limits each and where its time comes from."""

    tasks: tuple[Task, ...]
    limits: dict[str, Limit]
    provenance: dict[str, Provenance]


def iteration_tasks(
    job: TrainingJob, plan: ShardingPlan, traffic: EmbeddingTraffic, times: ComponentTimes | None = None
) -> IterationTasks:
    """All tasks of one iteration of the job on the plan's cluster."""
    return _Tasks(job, plan, traffic, times).issued()


class _Tasks:
    def __init__(
        self, job: TrainingJob, plan: ShardingPlan, traffic: EmbeddingTraffic, times: ComponentTimes | None
    ) -> None:
        self.job, self.plan, self.cluster, self.traffic = job, plan, plan.cluster, traffic
        self.costs = DenseCosts(cluster=self.cluster, job=job, times=times)
        self.ranks = self.cluster.ranks
        self.everyone = np.zeros(self.ranks, dtype=np.int64)
        self.nodes = np.arange(self.ranks) // self.cluster.devices_per_node
        self.lookups = _LOOKUP if job.lookups_beside_dense else _DENSE
        self.reduce = _EXCHANGE if job.is_network_shared else _REDUCE
        self.distribute = _EXCHANGE if job.is_network_shared else _DISTRIBUTE
        self.tasks: list[Task] = []
        self.limits: dict[str, Limit] = {}
        self.provenance: dict[str, Provenance] = {}

    def issued(self) -> IterationTasks:
        arrived: tuple[str, ...] = () if self.job.is_input_pipelined else self._input()
        pooled = self._forward_tables(arrived)
        vectors = (*pooled, *self._stack_forward("bottom MLP", self.job.bottom, arrived))
        vectors += self._stack_forward("embeddings from ids", self.job.per_id, arrived)
        top = self._stack_forward("top MLP", self.job.top, self._interaction(FORWARD, vectors)) or vectors
        if self.job.is_input_pipelined:
            self._input()
        self._backward(top)
        if not self.tasks:
            raise InputError(f"job {self.job.name}: has neither tables nor layers")
        return IterationTasks(tasks=tuple(self.tasks), limits=self.limits, provenance=self.provenance)

    def _input(self) -> tuple[str, ...]:
        """Copy, distribution and fetch of one batch; the names of what a look-up waits for."""
        is_ahead = self.job.is_input_pipelined
        copied = self._add("copy input", INPUT, HOST_STREAM, self._copied_s(), "host link")
        # Ahead of time each step works on a batch of its own.
        waits = () if is_ahead else copied
        shared = self._messages(_INPUT_NAMES, INPUT, self.traffic.input, waits, stream=self.distribute) or copied
        arrived = shared
        for tier, bytes_R in self.traffic.fetched_bytes_R.items():
            seconds_R = bytes_R / self.cluster.device_bandwidth(tier)
            waits = () if is_ahead else shared
            arrived += self._add(f"fetch rows from {tier}", INPUT, HOST_STREAM, seconds_R, "host link", waits)
        return arrived

    def _copied_s(self) -> Floats:
        """Ids, lengths and dense features of the rank's own batch, as one combined copy."""
        ids = self.job.local_ids_per_sample + sum(table.pooling for table in self.job.tables)
        per_sample = ids * ID_BYTES + len(self.job.tables) * LENGTH_BYTES + self.job.dense_features * _FLOAT_BYTES
        return self._each(self.job.batch_per_rank * per_sample / self.cluster.host_to_device_bytes_per_s)

    def _forward_tables(self, arrived: tuple[str, ...]) -> tuple[str, ...]:
        looked_up = self._tables("look up", FORWARD, self.traffic.read_bytes_R, arrived)
        first = [message for message in self.traffic.forward if message.in_node]
        then = [message for message in self.traffic.forward if not message.in_node]
        inside = self._messages(_FORWARD_NAMES, FORWARD, first, looked_up)
        return self._messages(_FORWARD_NAMES, FORWARD, then, inside or looked_up) or inside or looked_up

    def _interaction(self, phase: str, after: tuple[str, ...]) -> tuple[str, ...]:
        job, passes = self.job, 2 if phase == BACKWARD else 1
        numbers = passes * job.interaction_numbers_per_sample * job.batch_per_rank
        flops = passes * job.interaction_flops_per_sample * job.batch_per_rank
        if not (numbers or flops):
            return after
        moved_bytes = numbers * BYTES_PER_NUMBER[job.compute_dtype]
        cost = roofline_cost(self.cluster, job.compute_dtype, flops=flops, moved_bytes=moved_bytes, launches=passes)
        name = "interaction" if phase == FORWARD else "interaction, gradients"
        return self._cost(name, phase, cost, after)

    def _backward(self, top: tuple[str, ...]) -> None:
        """Dense gradients are reduced as they come, those of the top before those of tables are sent."""
        job = self.job
        top_done, top_buckets = self._stack_backward("top MLP", job.top, top)
        top_reduced = self._reduce("top MLP", job.top, top_buckets) or top_done
        crossed = self._interaction(BACKWARD, top_done)
        gradients = self._backward_tables(crossed)
        reduced = [("top MLP", job.top, top_reduced)]
        for name, stack in (("bottom MLP", job.bottom), ("embeddings from ids", job.per_id)):
            done, buckets = self._stack_backward(name, stack, crossed)
            reduced.append((name, stack, self._reduce(name, stack, buckets) or done))
        self._update_tables(gradients)
        for name, stack, after in reduced:
            self._cost(f"step of {name}", UPDATE, self.costs.step(stack), after)

    def _backward_tables(self, after: tuple[str, ...]) -> tuple[str, ...]:
        """Gradients on their way back, and the all-reduce of those of replicated tables."""
        reduced = [message for message in self.traffic.backward if message.collective == "all_reduce"]
        first = [message for message in self.traffic.backward if not message.in_node and message not in reduced]
        then = [message for message in self.traffic.backward if message.in_node]
        sent = self._messages(_BACKWARD_NAMES, BACKWARD, first, after)
        inside = self._messages(_BACKWARD_NAMES, BACKWARD, then, sent or after)
        copies = self._messages(_BACKWARD_NAMES, BACKWARD, reduced, after, stream=self.reduce)
        return (*sent, *inside, *copies) or after

    def _update_tables(self, after: tuple[str, ...]) -> None:
        updated = self._tables("update tables", UPDATE, self.traffic.updated_bytes_R, after)
        for tier, bytes_R in self.traffic.fetched_bytes_R.items():
            seconds_R = bytes_R / self.cluster.device_bandwidth(tier)
            waits = () if self.job.is_input_pipelined else updated
            self._add(f"write rows back to {tier}", UPDATE, HOST_STREAM, seconds_R, "host link", waits)

    def _stack_forward(self, name: str, stack: DenseStack, after: tuple[str, ...]) -> tuple[str, ...]:
        return self._cost(name, FORWARD, self.costs.forward(stack), after) if stack.layers else ()

    def _stack_backward(
        self, name: str, stack: DenseStack, after: tuple[str, ...]
    ) -> tuple[tuple[str, ...], Sequence[str]]:
        """The last task of the backward pass, and the tasks after each of which one bucket of gradients is there."""
        if not stack.layers:
            return after, ()
        cost, buckets = self.costs.backward(stack), self._buckets(stack)
        part = Cost(seconds=cost.seconds / buckets, limit=cost.limit, provenance=cost.provenance)
        names: list[str] = []
        done = after
        for i in range(buckets):
            done = self._cost(_numbered(f"{name}, gradients", i, buckets), BACKWARD, part, done)
            names += done
        return done, names

    def _reduce(self, name: str, stack: DenseStack, buckets: Sequence[str]) -> tuple[str, ...]:
        reduced: tuple[str, ...] = ()
        for i, bucket in enumerate(buckets):
            bytes_R = self._each(stack.parameters * _FLOAT_BYTES / len(buckets))
            gradients = Message(collective="all_reduce", in_node=False, bytes_R=bytes_R)
            label = _numbered(f"AllReduce of {name}", i, len(buckets))
            reduced = self._collective(label, BACKWARD, gradients, (bucket,), stream=self.reduce)
        return reduced

    def _buckets(self, stack: DenseStack) -> int:
        wanted = math.ceil(stack.parameters * _FLOAT_BYTES / self.job.gradient_bucket_bytes)
        return max(1, min(stack.layers, wanted))

    def _messages(
        self,
        names: Mapping[tuple[str, bool], str],
        phase: str,
        messages: Sequence[Message],
        after: tuple[str, ...],
        *,
        stream: str = _EXCHANGE,
    ) -> tuple[str, ...]:
        """The collectives after all of `after`; the names of those that were issued."""
        issued: tuple[str, ...] = ()
        for message in messages:
            name = names[message.collective, message.in_node]
            issued += self._collective(name, phase, message, after, stream=stream)
        return issued

    def _collective(
        self, name: str, phase: str, message: Message, after: tuple[str, ...], *, stream: str = _EXCHANGE
    ) -> tuple[str, ...]:
        """Ranks with less to send wait for the one with the most; nothing is issued where nobody sends."""
        if self.ranks == 1 or not message.bytes_R.any():
            return ()
        nodes = 1 if message.in_node else None
        seconds_R = collective_seconds(self.cluster, message.collective, message.bytes_R, nodes=nodes)
        least = float(collective_seconds(self.cluster, message.collective, 1.0, nodes=nodes))
        limit: Limit = "network latency" if 2 * least > seconds_R.max() else "network bandwidth"
        meets_R = self.nodes if message.in_node else self.everyone
        return self._add(name, phase, stream, seconds_R, limit, after, meets_R=meets_R)

    def _cost(self, name: str, phase: str, cost: Cost, after: tuple[str, ...]) -> tuple[str, ...]:
        if not cost.seconds:
            return after
        return self._add(name, phase, _DENSE, self._each(cost.seconds), cost.limit, after, provenance=cost.provenance)

    def _add(
        self,
        name: str,
        phase: str,
        stream: str,
        seconds_R: Floats,
        limit: Limit,
        after: tuple[str, ...] = (),
        *,
        provenance: Provenance = "estimated",
        meets_R: NDArray[np.int64] | None = None,
    ) -> tuple[str, ...]:
        if not seconds_R.any():
            return after
        self.tasks.append(
            Task(name=name, phase=phase, stream=stream, seconds_R=seconds_R, after=after, meets_R=meets_R)
        )
        self.limits[name], self.provenance[name] = limit, provenance
        return (name,)

    def _tables(self, name: str, phase: str, bytes_R: Floats, after: tuple[str, ...]) -> tuple[str, ...]:
        """One fused kernel over all tables of a rank."""
        launch_R = np.where(bytes_R > 0, self.cluster.kernel_launch_s, 0.0)
        estimated_R = bytes_R / self.cluster.device_bandwidth(self.cluster.tiers[0].name) + launch_R
        kind = "backward" if phase == UPDATE else "forward"
        seconds_R, provenance = with_measured_tables(
            estimated_R, self.plan, self.job.batch_per_rank, kind, self.costs.times
        )
        return self._add(name, phase, self.lookups, seconds_R, "device memory", after, provenance=provenance)

    def _each(self, value: float) -> Floats:
        return np.full(self.ranks, value)


def _numbered(name: str, place: int, count: int) -> str:
    return name if count == 1 else f"{name} {place + 1}/{count}"
