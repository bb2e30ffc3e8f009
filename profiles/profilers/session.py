"""One session of torch's profiler, and what it recorded as plain data."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

__all__ = ["Allocation", "Event", "profiler_session", "recorded_allocations", "recorded_events"]

# At every other level, a session writes two lines to stderr; it is read once, before the first session.
_LEVEL = ("KINETO_LOG_LEVEL", "99")
# Beside these, a device records ranges of its own for what the host has named.
_DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """An operator or a named range on the host (`device` is `cpu`), or a kernel on a device.

    `correlation` identifies an operator, `launched_by` is that of the operator which launched a kernel. `sequence` is
    the number that an operator of the forward pass shares with the node that derives it in the backward one; -1 where
    there is none.
    """

    name: str
    start_ns: int
    end_ns: int
    device: str = "cpu"
    thread: int = 0
    correlation: int = 0
    launched_by: int = 0
    sequence: int = -1
    is_range: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Allocation:
    """Memory taken (`size_bytes` > 0) or given back (< 0) at an address of a device."""

    time_ns: int
    address: int
    size_bytes: int
    device: str


@contextmanager
def profiler_session(
    torch_name: str, *, memory: bool = False, shapes: bool = False
) -> Iterator[torch.profiler.profile]:
    """A session in which all work of the block on the host, and on the device, is recorded."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch_name.startswith("cuda"):
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with (
        _without_notices(),
        torch.profiler.profile(activities=activities, profile_memory=memory, record_shapes=shapes) as session,
    ):
        yield session
        if torch_name.startswith("cuda"):
            torch.cuda.synchronize()


def recorded_events(session: torch.profiler.profile) -> tuple[Event, ...]:
    """Operators, ranges and kernels of a finished session, in the order of their starts."""
    found = (_event(raw) for raw in _results(session).events())
    return tuple(sorted((event for event in found if event), key=lambda event: (event.start_ns, -event.end_ns)))


def recorded_allocations(session: torch.profiler.profile) -> tuple[Allocation, ...]:
    """What a finished session with `memory` saw of the allocators, in order of time."""
    found: list[Allocation] = []
    waiting = list(_results(session).experimental_event_tree())
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.tag.name == "Allocation":
            fields = node.extra_fields
            found.append(
                Allocation(
                    time_ns=node.start_time_ns,
                    address=fields.ptr,
                    size_bytes=fields.alloc_size,
                    device=fields.device.type,
                )
            )
    return tuple(sorted(found, key=lambda allocation: allocation.time_ns))


@contextmanager
def _without_notices() -> Iterator[None]:
    name, level = _LEVEL
    before = os.environ.get(name)
    os.environ[name] = level
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _results(session: torch.profiler.profile) -> Any:
    profiler: Any = session.profiler
    return profiler.kineto_results


def _event(raw: Any) -> Event | None:
    is_on_host, kind = raw.device_type().name == "CPU", _kind_of(raw)
    if kind not in (("cpu_op", "user_annotation") if is_on_host else _DEVICE_WORK):
        return None
    return Event(
        name=raw.name(),
        start_ns=raw.start_ns(),
        end_ns=raw.start_ns() + raw.duration_ns(),
        device="cpu" if is_on_host else f"cuda:{raw.device_index()}",
        thread=raw.start_thread_id(),
        correlation=raw.correlation_id(),
        launched_by=raw.linked_correlation_id(),
        sequence=raw.sequence_nr(),
        is_range=kind == "user_annotation",
    )


def _kind_of(raw: Any) -> str:
    """What Kineto calls the kind of an event; before torch told it, names and flags did."""
    if hasattr(raw, "activity_type"):
        return str(raw.activity_type())
    if raw.is_user_annotation():
        return "user_annotation"
    if raw.device_type().name != "CPU":
        return "kernel"
    is_runtime = re.match(r"(cuda|cu|hip)[A-Z]|\[memory\]", raw.name())
    return "cuda_runtime" if is_runtime else "cpu_op"
