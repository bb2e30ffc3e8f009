"""From the events of profiled passes to time by kernel and by module."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from profiles.kernel_time import KernelTime
from profiles.profilers.attribution import BusyTime, PlacedEvent, place_events, place_kernels
from profiles.profilers.operator_names import work_of
from profiles.profilers.session import Event
from profiles.profilers.subtrees import subtree_sums
from profiles.profilers.tensor_cores import uses_tensor_cores
from profiles.units import NS_PER_MS
from profiles.walk.subject import Phase
from profiles.walk.tree import ModuleNode

__all__ = ["KernelAnalysis", "KernelSums"]

MOST_TOLD = 3
LEAST_SHARE_TOLD = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelAnalysis:
    """Of one pass: time by kernel, and figures by module path.

    `uncounted_ms` is the time of operators whose FLOPs nobody counts, `zero_flops_ms` of those that count 0 by
    convention (element-wise ones, copies). `attributed_share` is the share of all kernels' time that ran in a module.
    """

    kernels: tuple[KernelTime, ...]
    figures: Mapping[str, Mapping[str, float | None]]
    uncounted_ms: Mapping[str, float]
    zero_flops_ms: Mapping[str, float]
    total_ms: float
    attributed_share: float | None

    def notes(self) -> tuple[str, ...]:
        """What ran outside the modules, and which operators count no FLOPs, with their share of the time."""
        notes = []
        if self.attributed_share is not None and self.attributed_share < 1 - LEAST_SHARE_TOLD:
            notes.append(f"kernels: {1 - self.attributed_share:.0%} of the time ran outside all modules")
        if told := self._told(self.uncounted_ms):
            notes.append(f"kernels: no FLOP formula for {told} of the time")
        if told := self._told(self.zero_flops_ms):
            notes.append(f"kernels: 0 FLOPs by convention for {told} of the time")
        return tuple(notes)

    def _told(self, by_operator: Mapping[str, float]) -> str:
        ranked = sorted(by_operator.items(), key=lambda item: -item[1])
        least_ms = LEAST_SHARE_TOLD * self.total_ms
        found = [f"{name} {ms / self.total_ms:.1%}" for name, ms in ranked if ms >= least_ms]
        more = [f"and {len(found) - MOST_TOLD} more"] if len(found) > MOST_TOLD else []
        return ", ".join([*found[:MOST_TOLD], *more])


class KernelSums:
    """Adds up the events of sessions of `passes` passes each; of the backward phase only what is derived counts.

    The device is what is measured where there is one (`torch_name` is `cuda:N`), else the operators on the host.
    """

    def __init__(self, nodes: Sequence[ModuleNode], *, passes: int, phase: Phase, torch_name: str) -> None:
        self._nodes, self._passes, self._phase = nodes, passes, phase
        self._is_cuda = torch_name.startswith("cuda")
        # By path, kernel and device: calls and milliseconds.
        self._kernels: dict[tuple[str | None, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._figures: dict[str, dict[str, float]] = {node.path: defaultdict(float) for node in nodes}
        self._uncounted_ms: dict[str, float] = defaultdict(float)
        self._zero_flops_ms: dict[str, float] = defaultdict(float)

    def add(self, events: Sequence[Event], weight: float = 1.0) -> None:
        """The events of one session, in the order of their starts; `weight` is how often a pass makes this call."""
        placed = place_events(events, lambda name: work_of(name) == "product")
        is_backward = self._phase == "backward"
        operators = [one for one in placed if not one.event.is_range and one.is_backward == is_backward]
        kernels = [one for one in place_kernels(events, placed) if one.is_backward == is_backward]
        measured = kernels if self._is_cuda else operators
        for one in measured:
            self._add_kernel(one, weight)
        times: Mapping[str, Sequence[PlacedEvent]] = {
            "cpu_time_ms": operators,
            "gpu_time_ms": kernels,
            "measured_ms": measured,
            "zero_flops_ms": [one for one in measured if not one.is_counted],
            "tensor_core_ms": [one for one in kernels if uses_tensor_cores(one.name)],
            "tensor_core_known_ms": [one for one in kernels if uses_tensor_cores(one.name) is not None],
        }
        for name, events_of in times.items():
            for path, time_ns in subtree_sums(self._nodes, ((one.node, one.own_ns) for one in events_of)).items():
                self._figures[path][name] += weight * time_ns / NS_PER_MS
        for path, gap_ns in _gaps(self._nodes, placed, kernels):
            self._figures[path]["launch_gap_ms"] += weight * gap_ns / NS_PER_MS

    def analysis(self) -> KernelAnalysis:
        """Of one pass."""
        kernels = [
            KernelTime(
                path=path,
                kernel=name,
                device=device,
                calls=calls / self._passes,
                milliseconds=milliseconds / self._passes,
                uses_tensor_cores=uses_tensor_cores(name) if self._is_cuda else None,
                phase=self._phase,
            )
            for (path, name, device), (calls, milliseconds) in self._kernels.items()
        ]
        total_ms = sum(kernel.milliseconds for kernel in kernels)
        in_modules_ms = sum(kernel.milliseconds for kernel in kernels if kernel.path is not None)
        return KernelAnalysis(
            kernels=tuple(sorted(kernels, key=lambda kernel: -kernel.milliseconds)),
            figures={path: self._figures_of(found) for path, found in self._figures.items()},
            uncounted_ms={name: ms / self._passes for name, ms in self._uncounted_ms.items()},
            zero_flops_ms={name: ms / self._passes for name, ms in self._zero_flops_ms.items()},
            total_ms=total_ms,
            attributed_share=_share(in_modules_ms, total_ms),
        )

    def _add_kernel(self, one: PlacedEvent, weight: float) -> None:
        path = None if one.node is None else self._nodes[one.node].path
        milliseconds = weight * one.own_ns / NS_PER_MS
        sums = self._kernels[path, one.name, one.event.device]
        sums[0] += weight
        sums[1] += milliseconds
        if not one.is_counted:
            operator = one.launcher or one.name
            by_operator = self._uncounted_ms if work_of(operator) == "unknown" else self._zero_flops_ms
            by_operator[operator] += milliseconds

    def _figures_of(self, found: Mapping[str, float]) -> dict[str, float | None]:
        on_device: dict[str, float | None] = dict.fromkeys(("gpu_time_ms", "launch_gap_ms", "tensor_core_share"))
        if self._is_cuda:
            on_device = {
                "gpu_time_ms": found.get("gpu_time_ms", 0.0) / self._passes,
                "launch_gap_ms": found.get("launch_gap_ms", 0.0) / self._passes,
                "tensor_core_share": _share(found.get("tensor_core_ms", 0.0), found.get("tensor_core_known_ms", 0.0)),
            }
        return {
            "cpu_time_ms": found.get("cpu_time_ms", 0.0) / self._passes,
            **on_device,
            "zero_flops_share": _share(found.get("zero_flops_ms", 0.0), found.get("measured_ms", 0.0)),
        }


def _gaps(
    nodes: Sequence[ModuleNode], placed: Sequence[PlacedEvent], kernels: Sequence[PlacedEvent]
) -> Iterator[tuple[str, int]]:
    """By call of a module: how long its device had nothing to do between the call's first kernel and its last."""
    spans: dict[int, tuple[int, int]] = {}
    for one in kernels:
        call = one.call
        while call is not None:
            start_ns, end_ns = spans.get(call, (one.event.start_ns, one.event.end_ns))
            spans[call] = min(start_ns, one.event.start_ns), max(end_ns, one.event.end_ns)
            call = placed[call].around
    busy = BusyTime([one.event for one in kernels])
    for call, (start_ns, end_ns) in spans.items():
        node = placed[call].node
        if node is not None and not _is_within_itself(call, placed):
            yield nodes[node].path, busy.idle_ns(start_ns, end_ns)


def _is_within_itself(call: int, placed: Sequence[PlacedEvent]) -> bool:
    outer = placed[call].around
    while outer is not None:
        if placed[outer].node == placed[call].node:
            return True
        outer = placed[outer].around
    return False


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
