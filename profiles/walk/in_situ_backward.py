"""Time of the backward pass under each module, where it stands: by hooks on the nodes of the autograd graph.

Module hooks for the backward pass put nodes of their own into the graph, and break modules that work in place. Here the
graph stays as it is: a node belongs to the module in whose call it was made, which its sequence number tells.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any

import torch

from profiles.core_probe import QuietCore
from profiles.errors import MeasurementError
from profiles.providers.target import InputBatch
from profiles.records import Latency
from profiles.timing import Sample, gc_paused, summarize
from profiles.walk.gradients import Graph, gradient_edges, graph_of
from profiles.walk.in_situ import LEAST_VISIT_MS, MOST_PASSES
from profiles.walk.input_copies import clone_inputs
from profiles.walk.model_passes import ModelPasses
from profiles.walk.tracing import Trace, call_log

__all__ = ["InSituBackward"]

_NO_NUMBER = 2**64 - 1


class InSituBackward:
    """Collects one sample per pass and node: the time in which nodes of the graph run that its calls made.

    What the engine does between them, and the hooks, counts for the model alone. With a `core`, passes wait until it is
    quiet; those during which it was not are taken again, and left out once there are enough others. `failure` tells why
    there are no times.
    """

    def __init__(self, where: ModelPasses, core: QuietCore | None = None) -> None:
        self._where, self._watch, self._core = where, where.watch, core
        self._visits = 0
        self._passes: list[Mapping[int, float]] = []
        self._quiet: list[Mapping[int, float]] = []
        self.failure = ""

    def visit(self) -> None:
        """Run the model forward and backward, a small one several times."""
        if self.failure:
            return
        try:
            quiet, busy = self._taken()
        except Exception as error:  # noqa: BLE001 (what a model may raise is up to the user's code)
            told = str(error) if isinstance(error, MeasurementError) else f"{type(error).__name__}: {error}"
            self.failure = f"the backward pass in the model could not be timed: {told}"
        else:
            self._passes += quiet or busy
            self._quiet += quiet
            self._visits += 1

    def inclusive(self, index: int) -> Latency | None:
        """Latency of a node's backward pass with that of everything it calls."""
        used = self._quiet if len(self._quiet) >= self._visits else self._passes
        times_ms = [one[index] for one in used if index in one]
        if self.failure or not times_ms:
            return None
        samples = [[Sample(latency_ms=one, wall_ms=one, cpu_ms=0.0)] for one in times_ms]
        return replace(summarize(samples, sees_contention=False), visits=self._visits, cpu_ms=None)

    def _taken(self) -> tuple[list[dict[int, float]], list[dict[int, float]]]:
        """The passes of a visit while the core was quiet and while it was not, at most twice as many as are wanted."""
        quiet: list[dict[int, float]] = []
        busy: list[dict[int, float]] = []
        wanted, fastest_ms = 1, math.inf
        while len(quiet) < wanted and len(quiet) + len(busy) < 2 * wanted:
            if self._core:
                self._core.wait()
            taken = self._pass()
            (quiet if self._core is None or self._core.stayed() else busy).append(taken)
            fastest_ms = min(fastest_ms, taken[0])
            wanted = max(1, min(MOST_PASSES, math.ceil(LEAST_VISIT_MS / fastest_ms)))
        return quiet, busy

    def _pass(self) -> dict[int, float]:
        times_ms: dict[int, float] = {}
        for batch, weight in self._where.batches:
            for index, duration_ms in self._run(batch).items():
                times_ms[index] = times_ms.get(index, 0.0) + weight * duration_ms
        return times_ms

    def _run(self, batch: InputBatch) -> dict[int, float]:
        args, kwargs = clone_inputs((batch.args, dict(batch.kwargs)))
        edges = gradient_edges(self._where.model, (args, kwargs))
        with call_log(self._where.nodes, _sequence_number) as trace, self._where.entered():
            output = self._where.model(*args, **kwargs)
        whole_ms, times_ms = self._backward(graph_of(output, edges))
        return {**_inclusive(trace, times_ms), 0: whole_ms}

    def _backward(self, graph: Graph) -> tuple[float, dict[int, float]]:
        """Duration of the whole pass, and of each node of the graph by its sequence number."""
        marks: dict[int, list[Any]] = {}
        with ExitStack() as stack:
            for node in _graph_nodes(graph.outputs):
                # Before and after it runs.
                mark = partial(_mark, marks.setdefault(_number_of(node), []).append, self._watch.mark)
                stack.callback(node.register_prehook(mark).remove)
                stack.callback(node.register_hook(mark).remove)
            stack.enter_context(gc_paused())
            start = self._watch.mark()
            graph.gradients()
            end = self._watch.mark()
            self._watch.wait()
        between_ms = self._watch.between_ms
        return between_ms(start, end), {number: between_ms(*both) for number, both in marks.items() if both}


def _sequence_number() -> int:
    """Of the next node of the graph that this thread makes."""
    return torch._C._autograd._get_sequence_nr()  # noqa: SLF001 (no public way to ask)


def _number_of(node: Any) -> int:
    return int(node._sequence_nr())  # noqa: SLF001 (as above)


def _mark(append: Callable[[Any], None], mark: Callable[[], Any], *_gradients: Any) -> None:
    append(mark())


def _graph_nodes(outputs: Sequence[torch.Tensor]) -> set[Any]:
    """The nodes above the outputs, but for those that only accumulate gradients, which have no number."""
    found: set[Any] = set()
    waiting: list[Any] = [output.grad_fn for output in outputs]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found and _number_of(node) < _NO_NUMBER:
            found.add(node)
            waiting.extend(following for following, _ in node.next_functions)
    return found


def _inclusive(trace: Trace[int], times_ms: Mapping[int, float]) -> dict[int, float]:
    numbers = sorted(times_ms)
    until_ms = [0.0, *accumulate(times_ms[number] for number in numbers)]
    found: dict[int, float] = {}
    for span in trace.spans:
        if span.is_outermost and span.end > span.start:
            duration_ms = until_ms[bisect_left(numbers, span.end)] - until_ms[bisect_left(numbers, span.start)]
            found[span.node] = found.get(span.node, 0.0) + duration_ms
    return found
