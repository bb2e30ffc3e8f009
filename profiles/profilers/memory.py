"""Memory of a module alone: its peak, what it keeps, and its part in the model's peak.

The allocator's own record is read, so that scratch memory inside kernels counts and views do not. What was there
before the call (parameters, inputs) is not part of it.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from profiles.errors import InputError
from profiles.profilers.artefacts import artefact_path, level_of
from profiles.profilers.attribution import owners_at, place_events
from profiles.profilers.option_text import parse_options
from profiles.profilers.protocol import Figure, Finding
from profiles.profilers.ranges import module_ranges
from profiles.profilers.replay import Replay
from profiles.profilers.session import Allocation, profiler_session, recorded_allocations, recorded_events
from profiles.profilers.subtrees import subtree_sums
from profiles.walk.capture import CapturedCall
from profiles.walk.subject import Subject
from profiles.walk.tree import module_tree

__all__ = ["Memory", "MemoryUse", "memory_use"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryUse:
    """Bytes taken at most and at the end, and the allocations that were alive at the peak."""

    peak_bytes: int
    kept_bytes: int
    at_peak: tuple[Allocation, ...]


def memory_use(allocations: Sequence[Allocation], kept_at_ns: int | None = None) -> MemoryUse:
    """Of allocations in order of time; `kept_at_ns` is when to look at what is kept (None: after the last).

    What is given back without having been taken was there before, and is left out.
    """
    alive: dict[int, Allocation] = {}
    now = peak = 0
    kept: int | None = None
    at_peak: tuple[Allocation, ...] = ()
    for one in allocations:
        if kept is None and kept_at_ns is not None and one.time_ns > kept_at_ns:
            kept = now
        if one.size_bytes > 0:
            alive[one.address] = one
            now += one.size_bytes
        elif before := alive.pop(one.address, None):
            now -= before.size_bytes
        if now > peak:
            peak, at_peak = now, tuple(alive.values())
    return MemoryUse(peak_bytes=peak, kept_bytes=now if kept is None else kept, at_peak=at_peak)


class Memory:
    """`peak_memory_bytes` and `allocated_bytes` (what is kept: the output, and with gradients what backward needs).

    `memory_at_peak_bytes` is what a module, with all in it, holds at the moment at which the whole model holds most;
    over a model's modules these add up. On a CUDA device, where there is a folder, `memory/PATH.pickle` of the modules
    down to `depth` is a snapshot for https://pytorch.org/memory_viz.
    """

    name = "memory"
    visits = 1
    needs_folder = False
    figures: tuple[Figure, ...] = (
        Figure(name="allocated_bytes", title="Memory kept after the call (bytes)"),
        Figure(name="memory_at_peak_bytes", title="Memory at the model's peak (bytes)", aggregation="sum"),
    )

    def __init__(self, *, depth: int = 1) -> None:
        if depth < 0:
            raise InputError(f"profiler memory: depth must be >= 0, but got {depth}")
        self.depth = depth

    @classmethod
    def from_text(cls, text: str) -> "Memory":
        """Of the option `depth`."""
        return cls(**parse_options(cls.name, text, {"depth": int}))

    def open(self, folder: Path | None) -> "_OpenMemory":
        """For one model, in whose peak the others have their parts."""
        return _OpenMemory(folder, self.depth)


class _OpenMemory:
    def __init__(self, folder: Path | None, depth: int) -> None:
        self.folder, self.depth = folder, depth
        self._models: dict[str, _MemoryRun] = {}

    def start(self, subject: Subject) -> "_MemoryRun":
        """The model's own run finds the parts of all modules in its peak."""
        if subject.is_model:
            self._models[subject.phase] = run = _MemoryRun(self, subject, None)
            return run
        return _MemoryRun(self, subject, self._models.get(subject.phase))


class _MemoryRun:
    def __init__(self, opened: _OpenMemory, subject: Subject, model: "_MemoryRun | None") -> None:
        self._opened, self._subject, self._model = opened, subject, model
        self._peak_bytes, self._kept_bytes = 0, 0.0
        self._snapshot: Path | None = None
        self.at_peak: Mapping[str, int] = {}

    def visit(self) -> None:
        subject = self._subject
        for call in subject.calls:
            if subject.module is not subject.original or subject.torch_name.startswith("cuda"):
                Replay(subject, call).run()
            peak_bytes, kept_bytes = self._measure(call)
            self._peak_bytes = max(self._peak_bytes, peak_bytes)
            self._kept_bytes += kept_bytes * call.count * call.weight
        folder, is_cuda = self._opened.folder, subject.torch_name.startswith("cuda")
        if folder is not None and is_cuda and level_of(subject) <= self._opened.depth:
            self._snapshot = _take_snapshot(folder, subject)

    def finding(self) -> Finding:
        at_peak = (self._model or self).at_peak
        figures: dict[str, Any] = {"peak_memory_bytes": self._peak_bytes, "allocated_bytes": self._kept_bytes}
        if self._subject.path in at_peak:
            figures["memory_at_peak_bytes"] = float(at_peak[self._subject.path])
        is_apart = not at_peak or self._subject.path in at_peak
        notes = () if is_apart else ("memory: its part of the peak is not told apart, what it is in runs as one piece",)
        folder = self._opened.folder
        if self._snapshot is None or folder is None:
            return Finding(figures=figures, notes=notes)
        name = self._snapshot.relative_to(folder).as_posix()
        return Finding(figures=figures, artefacts={"memory snapshot": name}, notes=notes)

    def _measure(self, call: CapturedCall) -> tuple[int, int]:
        subject = self._subject
        replay = Replay(subject, call)
        nodes = module_tree(subject.module) if subject.is_model else ()
        with ExitStack() as stack:
            stack.enter_context(module_ranges(nodes))
            session = stack.enter_context(profiler_session(subject.torch_name, memory=True))
            output = replay.forward()
            with torch.profiler.record_function(_KEPT):
                pass
            gradients = replay.backward(output) if subject.phase == "backward" else ()
        events = recorded_events(session)
        kept_at_ns = next(event.start_ns for event in events if event.name == _KEPT)
        device = "cuda" if subject.torch_name.startswith("cuda") else "cpu"
        use = memory_use([one for one in recorded_allocations(session) if one.device == device], kept_at_ns)
        if subject.is_model and use.peak_bytes > self._peak_bytes:
            times_ns = sorted(one.time_ns for one in use.at_peak)
            owners = owners_at(place_events(events), times_ns)
            sizes = [one.size_bytes for one in sorted(use.at_peak, key=lambda one: one.time_ns)]
            self.at_peak = subtree_sums(nodes, zip(owners, sizes, strict=True))
        # Held until here, so that what is kept shows as kept.
        del output, gradients
        return use.peak_bytes, use.kept_bytes


_KEPT = "recplan kept"


def _take_snapshot(folder: Path, subject: Subject) -> Path:
    memory: Any = torch.cuda.memory
    path = artefact_path(folder, "memory", subject, "pickle")
    replay = Replay(subject, subject.calls[0])
    memory._record_memory_history(max_entries=100_000)  # noqa: SLF001 (torch documents it under this name)
    try:
        replay.run()
        memory._dump_snapshot(str(path))  # noqa: SLF001 (as above)
    finally:
        memory._record_memory_history(enabled=None)  # noqa: SLF001 (as above)
    return path
