"""Latency of modules where they stand: light hooks around every call during passes of the whole model."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from profiles.capture import clone_inputs
from profiles.records import Latency
from profiles.timing import Sample, gc_paused, summarize
from profiles.tracing import Span, tracing
from profiles.tree import ModuleNode
from profiles.units import NS_PER_MS

__all__ = ["InSituTimes"]


class InSituTimes:
    """Collects one sample per pass and node: inclusive time, and time outside the node's hooked callees."""

    def __init__(self, nodes: tuple[ModuleNode, ...], torch_name: str) -> None:
        self._nodes = nodes
        self._is_cuda = torch_name.startswith("cuda")
        self._visits = 0
        self._inclusive_ms: dict[int, list[float]] = {}
        self._own_ms: dict[int, list[float]] = {}

    def visit(self, model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], passes: int) -> None:
        """Run the model under the hooks; a model that raises leaves the times of the calls that returned."""
        self._visits += 1
        meter, elapsed_ms = (_cuda_event, _cuda_ms) if self._is_cuda else (time.perf_counter_ns, _wall_ms)
        for _ in range(passes):
            self._collect(self._trace(meter, model, clone_inputs(args), clone_inputs(kwargs)), elapsed_ms)

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

    def _trace(
        self, meter: Callable[[], Any], model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> list[Span[Any]]:
        with tracing(self._nodes, meter) as trace, torch.no_grad(), gc_paused():
            try:
                model(*args, **kwargs)
            except Exception:  # noqa: BLE001 (the capturing pass has recorded the reason)
                return trace.spans
            finally:
                if self._is_cuda:
                    torch.cuda.synchronize()
        return trace.spans

    def _collect(self, spans: list[Span[Any]], elapsed_ms: Callable[[Any, Any], float]) -> None:
        inclusive: dict[int, float] = {}
        callees: dict[int, float] = {}
        for span in spans:
            duration_ms = elapsed_ms(span.start, span.end)
            inclusive[span.node] = inclusive.get(span.node, 0.0) + duration_ms
            if span.caller is not None:
                callees[span.caller] = callees.get(span.caller, 0.0) + duration_ms
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
