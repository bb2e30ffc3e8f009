"""Latency of modules where they stand: light hooks around every call during passes of the whole model."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from profiles.capture import clone_inputs
from profiles.providers.target import InputBatch
from profiles.records import Latency
from profiles.timing import Sample, gc_paused, summarize
from profiles.tracing import Span, tracing
from profiles.tree import ModuleNode
from profiles.units import NS_PER_MS

__all__ = ["InSituTimes"]

MOST_WALL_OVER_CPU = 1.05
Floats = npt.NDArray[np.float64]
# A call, and its wall and CPU milliseconds.
Times = list[tuple[Span[Any], Floats]]


class InSituTimes:
    """Collects one sample per pass and node: inclusive time, and time outside the node's hooked callees."""

    def __init__(self, nodes: tuple[ModuleNode, ...], torch_name: str) -> None:
        self._nodes = nodes
        self._is_cuda = torch_name.startswith("cuda")
        self._visits = 0
        self._inclusive: dict[int, list[Sample]] = {}
        self._own: dict[int, list[Sample]] = {}

    @property
    def visits(self) -> int:
        """How often the model was visited."""
        return self._visits

    def visit(self, model: nn.Module, batches: Sequence[InputBatch], passes: int) -> None:
        """Run the model under the hooks; a model that raises leaves the times of the calls that returned.

        A pass runs every batch once, and its times are their weighted mean. Passes under contention are taken again,
        at most as many as were asked for.
        """
        self._visits += 1
        clean: list[Times] = []
        contended: list[Times] = []
        while len(clean) < passes and len(clean) + len(contended) < 2 * passes:
            times, wall_over_cpu = self._pass(model, batches)
            is_clean = self._is_cuda or wall_over_cpu <= MOST_WALL_OVER_CPU
            (clean if is_clean else contended).append(times)
        for times in (*clean, *contended)[:passes]:
            self._add(times)

    def inclusive(self, index: int) -> Latency | None:
        """Latency of a node with everything it calls, summed over its calls in a pass."""
        return self._latency(self._inclusive.get(index))

    def own(self, index: int) -> Latency | None:
        """Latency of what a node does outside the hooked modules that it calls."""
        return self._latency(self._own.get(index))

    def _latency(self, samples: list[Sample] | None) -> Latency | None:
        if not samples:
            return None
        return replace(summarize([samples], sees_contention=not self._is_cuda), visits=self._visits)

    def _pass(self, model: nn.Module, batches: Sequence[InputBatch]) -> tuple[Times, float]:
        weight, times, ratios = sum(batch.weight for batch in batches), [], []
        for batch in batches:
            of_batch, wall_over_cpu = self._run(model, clone_inputs(batch.args), clone_inputs(dict(batch.kwargs)))
            times += [(span, duration_ms * (batch.weight / weight)) for span, duration_ms in of_batch]
            ratios.append(wall_over_cpu)
        return times, max(ratios)

    def _run(self, model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Times, float]:
        meter, elapsed_ms = (_cuda_event, _cuda_ms) if self._is_cuda else (time.perf_counter_ns, _ns_to_ms)

        def read() -> tuple[Any, int]:
            return meter(), time.thread_time_ns()

        with tracing(self._nodes, read) as trace, torch.no_grad(), gc_paused():
            start, cpu_start = time.perf_counter_ns(), time.thread_time_ns()
            # Whatever the model raises, the capturing pass has met and recorded it.
            with suppress(Exception):
                model(*args, **kwargs)
            if self._is_cuda:
                torch.cuda.synchronize()
            wall_ns, cpu_ns = time.perf_counter_ns() - start, time.thread_time_ns() - cpu_start
        times = [
            (span, np.array((elapsed_ms(span.start[0], span.end[0]), _ns_to_ms(span.start[1], span.end[1]))))
            for span in trace.spans
        ]
        return times, wall_ns / max(cpu_ns, 1)

    def _add(self, times: Times) -> None:
        inclusive: dict[int, Floats] = {}
        own: dict[int, Floats] = {}
        for span, duration_ms in times:
            if span.is_outermost:
                inclusive[span.node] = inclusive.get(span.node, 0.0) + duration_ms
            own[span.node] = own.get(span.node, 0.0) + duration_ms
            if span.caller is not None:
                own[span.caller] = own.get(span.caller, 0.0) - duration_ms
        for node, duration_ms in inclusive.items():
            self._inclusive.setdefault(node, []).append(_sample(duration_ms))
            self._own.setdefault(node, []).append(_sample(own[node]))


def _sample(wall_and_cpu_ms: Floats) -> Sample:
    wall_ms, cpu_ms = map(float, wall_and_cpu_ms)
    return Sample(latency_ms=wall_ms, wall_ms=wall_ms, cpu_ms=cpu_ms)


def _ns_to_ms(start_ns: int, end_ns: int) -> float:
    return (end_ns - start_ns) / NS_PER_MS


def _cuda_event() -> Any:
    cuda: Any = torch.cuda
    event = cuda.Event(enable_timing=True)
    event.record()
    return event


def _cuda_ms(start: Any, end: Any) -> float:
    return float(start.elapsed_time(end))
