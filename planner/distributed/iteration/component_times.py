"""Times of dense layers: measured ones where a profile store has them, else the roofline."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

from planner.distributed.cluster import Cluster
from planner.distributed.iteration.dense_stack import DenseStack
from planner.distributed.iteration.training_job import BYTES_PER_NUMBER, DenseOptimizer, TrainingJob
from profiles.component import Component
from profiles.errors import UnknownNameError
from profiles.records import ComponentProfile
from profiles.units import MS_PER_S
from representations.embedding_components import linear
from representations.phases import backward_of, optimizer_of

__all__ = ["ComponentTimes", "Cost", "DenseCosts", "Limit", "MeasuredTimes", "Provenance", "roofline_cost"]

Provenance = Literal["measured", "partly measured", "estimated"]
Limit = Literal[
    "matrix products",
    "device memory",
    "kernel launches",
    "network bandwidth",
    "network latency",
    "host link",
    "nothing",
]
_FLOAT_BYTES = 4
# Values of 4 bytes that one step reads and writes per parameter: gradient and weight, then moments.
_VALUES_PER_STEP: Mapping[DenseOptimizer, int] = {"sgd": 3, "adagrad": 5, "adam": 7}


class ComponentTimes(Protocol):
    """Where times of components come from that somebody measured."""

    def seconds(self, component: Component) -> float | None:
        """What the component takes, or None where it was not measured."""


class MeasuredTimes:
    """The measured rows of a profile store, of one device; of several set-ups the newest row of a component counts."""

    def __init__(self, profiles: Iterable[ComponentProfile], device: str) -> None:
        self._seconds: dict[tuple[str, int], float] = {}
        rows = (row for row in profiles if row.device == device and row.provenance == "measured")
        for row in sorted(rows, key=lambda row: row.fingerprint.timestamp):
            if row.warm is not None:
                self._seconds[row.spec, row.batch] = row.warm.p25_ms / MS_PER_S

    def seconds(self, component: Component) -> float | None:
        """As `ComponentTimes` says: the lower quartile over visits of a warm call."""
        return self._seconds.get((component.spec(), component.batch))


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What a piece of work takes on one rank, what limits it, and where the figure comes from."""

    seconds: float
    limit: Limit
    provenance: Provenance = "estimated"


def roofline_cost(cluster: Cluster, dtype: str, *, flops: float, moved_bytes: float, launches: float) -> Cost:
    """The greater of arithmetic and traffic of the fastest memory, and the launches of its kernels.

    Raises:
        UnknownNameError: the cluster has no rate for the dtype.
    """
    if dtype not in cluster.flops_per_s:
        raise UnknownNameError(f"cluster {cluster.name}: flops_per_s", dtype, cluster.flops_per_s)
    parts: dict[Limit, float] = {
        "matrix products": flops / cluster.flops_per_s[dtype],
        "device memory": moved_bytes / cluster.device_bandwidth(cluster.tiers[0].name),
        "kernel launches": launches * cluster.kernel_launch_s,
    }
    seconds = max(parts["matrix products"], parts["device memory"]) + parts["kernel launches"]
    return Cost(seconds=seconds, limit=max(parts, key=parts.__getitem__) if seconds else "nothing")


@dataclass(frozen=True, kw_only=True, slots=True)
class DenseCosts:
    """Costs of the stacks of a job on a rank of the cluster; each layer's from `times` where it was measured."""

    cluster: Cluster
    job: TrainingJob
    times: ComponentTimes | None = None

    def forward(self, stack: DenseStack) -> Cost:
        """Of a forward pass over the rank's batch."""
        numbers = stack.parameters + self.job.batch_per_rank * stack.activations_per_sample
        return self._of_layers(stack, "forward", stack.flops_per_sample, numbers, stack.layers)

    def backward(self, stack: DenseStack) -> Cost:
        """Of the gradients of weights and inputs: twice the FLOPs, traffic and launches."""
        numbers = 2 * (stack.parameters + self.job.batch_per_rank * stack.activations_per_sample)
        return self._of_layers(stack, "backward", 2 * stack.flops_per_sample, numbers, 2 * stack.layers)

    def step(self, stack: DenseStack) -> Cost:
        """Of the optimizer: one fused kernel over the stack, which reads and writes all it keeps."""
        if self.job.dense_optimizer is None or not stack.parameters:
            return Cost(seconds=0.0, limit="nothing")
        measured = self._measured(stack, "optimizer")
        if measured and all(seconds is not None for seconds in measured):
            return Cost(seconds=sum(filter(None, measured)), limit="device memory", provenance="measured")
        moved = stack.parameters * _VALUES_PER_STEP[self.job.dense_optimizer] * _FLOAT_BYTES
        return roofline_cost(self.cluster, self.job.compute_dtype, flops=0.0, moved_bytes=moved, launches=1)

    def _of_layers(self, stack: DenseStack, phase: str, flops: float, numbers: float, launches: float) -> Cost:
        element_bytes = BYTES_PER_NUMBER[self.job.compute_dtype]
        whole = roofline_cost(
            self.cluster,
            self.job.compute_dtype,
            flops=flops * self.job.batch_per_rank,
            moved_bytes=numbers * element_bytes,
            launches=launches,
        )
        measured = self._measured(stack, phase)
        found = [seconds for seconds in measured if seconds is not None]
        if not found:
            return whole
        if len(found) == len(measured):
            return Cost(seconds=sum(found), limit=whole.limit, provenance="measured")
        estimated = [self._layer_seconds(a, b, phase) for a, b in pairwise(stack.widths)]
        together = sum(
            guess if seconds is None else seconds for seconds, guess in zip(measured, estimated, strict=True)
        )
        return Cost(seconds=together, limit=whole.limit, provenance="partly measured")

    def _layer_seconds(self, inputs: int, outputs: int, phase: str) -> float:
        passes = 2 if phase == "backward" else 1
        numbers = (inputs + 1) * outputs + self.job.batch_per_rank * (inputs + outputs)
        return roofline_cost(
            self.cluster,
            self.job.compute_dtype,
            flops=passes * 2.0 * inputs * outputs * self.job.batch_per_rank,
            moved_bytes=passes * numbers * BYTES_PER_NUMBER[self.job.compute_dtype],
            launches=passes,
        ).seconds

    def _measured(self, stack: DenseStack, phase: str) -> list[float | None]:
        """What each layer was measured to take; nothing where widths or measurements are unknown."""
        if self.times is None or not stack.widths:
            return []
        return [self.times.seconds(component) for component in self.components(stack, phase)]

    def components(self, stack: DenseStack, phase: str) -> Iterator[Component]:
        """The layers of a stack whose widths are known, or their `backward` pass or `optimizer` step."""
        for place, (inputs, outputs) in enumerate(pairwise(stack.widths)):
            layer = linear(self.job.batch_per_rank, inputs, outputs)
            if phase == "backward":
                needs_input_gradient = place > 0 or stack != self.job.bottom
                yield backward_of(layer, input_gradient=needs_input_gradient)
            elif phase == "optimizer":
                yield optimizer_of(layer, self.job.dense_optimizer)
            else:
                yield layer
