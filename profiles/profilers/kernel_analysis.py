"""Which kernels run under each module, and for how long: profiled passes of the whole model tell for all of them.

On a CPU a kernel is an operator without those that it calls. The profiler slows every operator by about a microsecond,
so that these times are for shares, not for latencies.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch

from profiles.kernel_time import KernelTime
from profiles.operator_work import OperatorWork, operator_work
from profiles.profilers.attribution import BACKWARD_RANGE, BusyTime, PlacedEvent, place_events, place_kernels
from profiles.profilers.ranges import module_ranges
from profiles.profilers.replay import Replay
from profiles.profilers.session import profiler_session, recorded_events
from profiles.profilers.subtrees import subtree_sums
from profiles.profilers.tensor_cores import uses_tensor_cores
from profiles.subject import Subject
from profiles.tree import ModuleNode, module_tree
from profiles.units import NS_PER_MS

__all__ = ["KernelAnalysis", "analyse", "work_of"]

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
        return ", ".join(f"{name} {ms / self.total_ms:.1%}" for name, ms in ranked if ms >= least_ms)


@dataclass(kw_only=True, slots=True)
class _Sums:
    """What the passes of all calls add up to."""

    kernels: dict[tuple[str | None, str, str], list[float]] = field(
        default_factory=lambda: defaultdict(lambda: [0.0, 0.0])
    )
    figures: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))
    uncounted_ms: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    zero_flops_ms: dict[str, float] = field(default_factory=lambda: defaultdict(float))


def analyse(subject: Subject, passes: int = 3) -> KernelAnalysis:
    """Profile passes of a model; of the backward phase only what is derived, not the forward pass before it."""
    nodes = module_tree(subject.module)
    sums = _Sums()
    for call in subject.calls:
        Replay(subject, call).run()
        replays = [Replay(subject, call) for _ in range(passes)]
        with ExitStack() as stack:
            stack.enter_context(module_ranges(nodes))
            session = stack.enter_context(profiler_session(subject.torch_name))
            for replay in replays:
                output = replay.forward()
                if subject.phase == "backward":
                    with torch.profiler.record_function(BACKWARD_RANGE):
                        replay.backward(output)
        events = recorded_events(session)
        placed = place_events(events, lambda name: work_of(name) == "product")
        _add(sums, nodes, placed, place_kernels(events, placed), subject, call.count * call.weight)
    return _analysis(sums, subject, passes)


@cache
def work_of(name: str) -> OperatorWork:
    """The kind of work of what has this name in a trace: an operator (`aten::mm`), or a node of autograd's."""
    namespace, separator, operator = name.partition("::")
    packet: Any = getattr(getattr(torch.ops, namespace, None), operator, None) if separator else None
    if packet is not None:
        work = operator_work(packet)
        return "data" if work == "unknown" and _only_calls_others(packet) else work
    return "data" if re.search(r"Backward\d*$|autograd", name) else "unknown"


def _only_calls_others(packet: Any) -> bool:
    """Whether the operator is made of others, which a trace shows inside it."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd  # noqa: SLF001 (no public name)
    overloads = (getattr(packet, name) for name in packet.overloads())
    return any(overload.has_kernel_for_dispatch_key(key) for overload in overloads)


def _add(
    sums: _Sums,
    nodes: Sequence[ModuleNode],
    placed: Sequence[PlacedEvent],
    kernels: Sequence[PlacedEvent],
    subject: Subject,
    weight: float,
) -> None:
    is_backward = subject.phase == "backward"
    operators = [one for one in placed if not one.event.is_range and one.is_backward == is_backward]
    on_device = [one for one in kernels if one.is_backward == is_backward]
    measured = on_device if subject.torch_name.startswith("cuda") else operators
    for one in measured:
        path = None if one.node is None else nodes[one.node].path
        sum_of_kernel = sums.kernels[path, one.name, one.event.device]
        sum_of_kernel[0] += weight
        sum_of_kernel[1] += weight * one.own_ns / NS_PER_MS
        if not one.is_counted:
            operator = one.launcher or one.name
            by_operator = sums.uncounted_ms if work_of(operator) == "unknown" else sums.zero_flops_ms
            by_operator[operator] += weight * one.own_ns / NS_PER_MS
    times: dict[str, Sequence[PlacedEvent]] = {
        "cpu_time_ms": operators,
        "gpu_time_ms": on_device,
        "measured_ms": measured,
        "zero_flops_ms": [one for one in measured if not one.is_counted],
        "tensor_core_ms": [one for one in on_device if uses_tensor_cores(one.name)],
        "tensor_core_known_ms": [one for one in on_device if uses_tensor_cores(one.name) is not None],
    }
    for name, events in times.items():
        for path, time_ns in subtree_sums(nodes, ((one.node, one.own_ns) for one in events)).items():
            sums.figures[path][name] += weight * time_ns / NS_PER_MS
    for path, gap_ns in _gaps(nodes, placed, on_device):
        sums.figures[path]["launch_gap_ms"] += weight * gap_ns / NS_PER_MS


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


def _analysis(sums: _Sums, subject: Subject, passes: int) -> KernelAnalysis:
    is_cuda = subject.torch_name.startswith("cuda")
    tells: Callable[[str], bool | None] = uses_tensor_cores if is_cuda else lambda _: None
    kernels = [
        KernelTime(
            path=path,
            kernel=name,
            device=device,
            calls=calls / passes,
            milliseconds=milliseconds / passes,
            uses_tensor_cores=tells(name),
            phase=subject.phase,
        )
        for (path, name, device), (calls, milliseconds) in sums.kernels.items()
    ]
    total_ms = sum(kernel.milliseconds for kernel in kernels)
    in_modules_ms = sum(kernel.milliseconds for kernel in kernels if kernel.path is not None)
    return KernelAnalysis(
        kernels=tuple(sorted(kernels, key=lambda kernel: -kernel.milliseconds)),
        figures={path: _figures(found, passes, is_cuda=is_cuda) for path, found in sums.figures.items()},
        uncounted_ms={name: ms / passes for name, ms in sums.uncounted_ms.items()},
        zero_flops_ms={name: ms / passes for name, ms in sums.zero_flops_ms.items()},
        total_ms=total_ms,
        attributed_share=_share(in_modules_ms, total_ms),
    )


def _figures(found: Mapping[str, float], passes: int, *, is_cuda: bool) -> dict[str, float | None]:
    return {
        "cpu_time_ms": found["cpu_time_ms"] / passes,
        "gpu_time_ms": found["gpu_time_ms"] / passes if is_cuda else None,
        "launch_gap_ms": found.get("launch_gap_ms", 0.0) / passes if is_cuda else None,
        "tensor_core_share": _share(found["tensor_core_ms"], found["tensor_core_known_ms"]) if is_cuda else None,
        "zero_flops_share": _share(found["zero_flops_ms"], found["measured_ms"]),
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
