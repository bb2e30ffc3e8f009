"""Latency of modules where they stand: light hooks around every call during passes of the whole model."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from profiles.capture import clone_inputs
from profiles.records import Latency
from profiles.timing import Sample, gc_paused, summarize
from profiles.tracing import tracing
from profiles.tree import ModuleNode
from profiles.units import NS_PER_MS

__all__ = ["InSituTimes"]

MOST_WALL_OVER_CPU = 1.05
# Node, its caller, milliseconds.
Times = list[tuple[int, int | None, float]]


class InSituTimes:
    """Collects one sample per pass and node: inclusive time, and time outside the node's hooked callees."""

    def __init__(self, nodes: tuple[ModuleNode, ...], torch_name: str) -> None:
        self._nodes = nodes
        self._is_cuda = torch_name.startswith("cuda")
        self._visits = 0
        self._inclusive_ms: dict[int, list[float]] = {}
        self._own_ms: dict[int, list[float]] = {}

    def visit(self, model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], passes: int) -> None:
        """Run the model under the hooks; a model that raises leaves the times of the calls that returned.

        Passes under contention are taken again, at most as many as were asked for.
        """
        self._visits += 1
        clean: list[Times] = []
        contended: list[Times] = []
        while len(clean) < passes and len(clean) + len(contended) < 2 * passes:
            times, wall_over_cpu = self._run(model, clone_inputs(args), clone_inputs(kwargs))
            is_clean = self._is_cuda or wall_over_cpu <= MOST_WALL_OVER_CPU
            (clean if is_clean else contended).append(times)
        for times in (*clean, *contended)[:passes]:
            self._add(times)

    def inclusive(self, index: int) -> Latency | None:
        """Latency of a node with everything it calls, summed over its calls in a pass."""
        return self._latency(self._inclusive_ms.get(index))

    def own(self, index: int) -> Latency | None:
        """Latency of what a node does outside the hooked modules that it calls."""
        return self._latency(self._own_ms.get(index))

    def _latency(self, samples_ms: list[float] | None) -> Latency | None:
        if not samples_ms:
            return None
        samples = [Sample(latency_ms=ms, wall_ms=ms, cpu_ms=0.0) for ms in samples_ms]
        return replace(summarize([samples], sees_contention=False), visits=self._visits, cpu_ms=None)

    def _run(self, model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Times, float]:
        meter, elapsed_ms = (_cuda_event, _cuda_ms) if self._is_cuda else (time.perf_counter_ns, _wall_ms)
        with tracing(self._nodes, meter) as trace, torch.no_grad(), gc_paused():
            cpu_start, start = time.thread_time_ns(), time.perf_counter_ns()
            # Whatever the model raises, the capturing pass has met and recorded it.
            with suppress(Exception):
                model(*args, **kwargs)
            if self._is_cuda:
                torch.cuda.synchronize()
            wall_ns, cpu_ns = time.perf_counter_ns() - start, time.thread_time_ns() - cpu_start
        times = [(span.node, span.caller, elapsed_ms(span.start, span.end)) for span in trace.spans]
        return times, wall_ns / max(cpu_ns, 1)

    def _add(self, times: Times) -> None:
        inclusive: dict[int, float] = {}
        callees: dict[int, float] = {}
        for node, caller, duration_ms in times:
            inclusive[node] = inclusive.get(node, 0.0) + duration_ms
            if caller is not None:
                callees[caller] = callees.get(caller, 0.0) + duration_ms
        for node, duration_ms in inclusive.items():
            self._inclusive_ms.setdefault(node, []).append(duration_ms)
            self._own_ms.setdefault(node, []).append(duration_ms - callees.get(node, 0.0))


def _wall_ms(start_ns: int, end_ns: int) -> float:
    return (end_ns - start_ns) / NS_PER_MS


def _cuda_event() -> Any:
    cuda: Any = torch.cuda
    event = cuda.Event(enable_timing=True)
    event.record()
    return event


def _cuda_ms(start: Any, end: Any) -> float:
    return float(start.elapsed_time(end))
