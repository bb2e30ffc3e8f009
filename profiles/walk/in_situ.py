"""Latency of modules where they stand: every call timed during passes of the whole model."""

import math
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from profiles.core_probe import QuietCore
from profiles.providers.target import InputBatch
from profiles.records import Latency
from profiles.timing import Sample, TimingOptions, gc_paused, summarize
from profiles.units import NS_PER_MS
from profiles.walk.input_copies import clone_inputs
from profiles.walk.model_passes import ModelPasses
from profiles.walk.tracing import Trace, call_log

__all__ = ["LEAST_VISIT_MS", "MOST_PASSES", "InSituTimes"]

# Passes of a small model are repeated until a visit has taken so long, at most so often.
LEAST_VISIT_MS = 30.0
MOST_PASSES = 10


@dataclass(frozen=True, slots=True)
class _Pass:
    """Times of one pass over all batches, their weighted mean; those of nodes only where calls were watched."""

    wall_ms: float
    cpu_ms: float
    process_ms: float
    inclusive_ms: dict[int, float]
    own_ms: dict[int, float]

    @property
    def wall_over_cpu(self) -> float:
        return self.wall_ms / max(self.cpu_ms, 1e-6)


class InSituTimes:
    """Collects one sample per pass and node: inclusive time, and time outside the node's watched callees.

    Passes in which calls are timed take turns with plain ones, so that what the timing costs is known. Of `timing` only
    what counts as contention matters. With a `core`, passes wait until it is quiet, and those during which it was not
    count as contended.
    """

    def __init__(self, where: ModelPasses, timing: TimingOptions | None = None, core: QuietCore | None = None) -> None:
        self._where, self._watch = where, where.watch
        self.visits = 0
        self._core = core
        self._most_wall_over_cpu = (timing or TimingOptions()).max_wall_over_cpu
        # Each a plain pass and a watched one.
        self._pairs: list[tuple[_Pass, _Pass]] = []
        self._clean: list[tuple[_Pass, _Pass]] = []

    def visit(self, passes: int) -> None:
        """Run the model at least so often; one that raises leaves the times of the calls that returned.

        Passes under contention are taken again, at most as many as were wanted.
        """
        self.visits += 1
        if self._core:
            self._core.begin_visit()
        clean: list[tuple[_Pass, _Pass]] = []
        contended: list[tuple[_Pass, _Pass]] = []
        wanted, fastest_ms = passes, math.inf
        while len(clean) < wanted and len(clean) + len(contended) < 2 * wanted:
            if self._core:
                self._core.wait()
            pair = self._pair(watched_first=len(clean) % 2 == 0)
            was_quiet = self._core is None or self._core.stayed()
            is_clean = self._watch.is_cuda or max(one.wall_over_cpu for one in pair) <= self._most_wall_over_cpu
            (clean if is_clean and was_quiet else contended).append(pair)
            # By the fastest pass so far, so that one slow pass does not drop what the others have shown.
            fastest_ms = min(fastest_ms, pair[0].wall_ms)
            wanted = max(passes, min(MOST_PASSES, math.ceil(LEAST_VISIT_MS / fastest_ms)))
        self._pairs += (*clean, *contended)[:wanted]
        self._clean += clean[:wanted]

    def inclusive(self, index: int) -> Latency | None:
        """Latency of a node with everything it calls, summed over its calls in a pass."""
        return self._latency([(one, one.inclusive_ms.get(index)) for _, one in self._used], is_whole=index == 0)

    def own(self, index: int) -> Latency | None:
        """Latency of what a node does outside the watched modules that it calls."""
        return self._latency([(one, one.own_ms.get(index)) for _, one in self._used])

    def share(self, index: int) -> float | None:
        """The node's part of the model's time, the median of the passes so far; None where that is not known."""
        times = (one.inclusive_ms for _, one in self._pairs)
        shares = [one[index] / one[0] for one in times if index in one and one.get(0)]
        return median(shares) if shares else None

    @property
    def overhead(self) -> float:
        """How much longer a pass takes in which calls are timed, as a share of a plain one.

        The fastest of each are compared, by CPU time where there is no GPU: whatever disturbs makes passes longer.
        """
        plain_ms, watched_ms = (min(self._busy_ms(pair[place]) for pair in self._pairs) for place in range(2))
        return watched_ms / max(plain_ms, 1e-6) - 1

    def _busy_ms(self, one: _Pass) -> float:
        return one.wall_ms if self._watch.is_cuda else one.cpu_ms

    @property
    def plain_ms(self) -> float:
        """Wall time of a plain pass."""
        return median(plain.wall_ms for plain, _ in self._pairs)

    @property
    def plain_p25_ms(self) -> float:
        """The 25th percentile of the wall times of those plain passes that took turns with the watched ones in use."""
        return float(np.percentile([plain.wall_ms for plain, _ in self._used], 25))

    @property
    def plain_process_ms(self) -> float:
        """CPU time of a plain pass, of all threads."""
        return median(plain.process_ms for plain, _ in self._pairs)

    @property
    def is_clean(self) -> bool:
        """Whether there are as many passes without contention as visits, so that the others are left out."""
        return len(self._clean) >= self.visits

    @property
    def _used(self) -> Sequence[tuple[_Pass, _Pass]]:
        return self._clean if self.is_clean else self._pairs

    def _latency(self, times: Sequence[tuple[_Pass, float | None]], *, is_whole: bool = False) -> Latency | None:
        samples = [
            Sample(latency_ms=known_ms, wall_ms=known_ms, cpu_ms=known_ms / one.wall_over_cpu)
            for one, known_ms in times
            if known_ms is not None
        ]
        if not samples:
            return None
        latency = summarize([samples], sees_contention=not self._watch.is_cuda)
        # CPU time is read once per pass; the ratio is that of the passes.
        return replace(latency, visits=self.visits, cpu_ms=latency.cpu_ms if is_whole else None)

    def _pair(self, *, watched_first: bool) -> tuple[_Pass, _Pass]:
        """A plain pass and one in which calls are timed."""
        first, second = self._run(is_watched=watched_first), self._run(is_watched=not watched_first)
        return (second, first) if watched_first else (first, second)

    def _run(self, *, is_watched: bool) -> _Pass:
        passes = [self._run_batch(batch, weight, is_watched=is_watched) for batch, weight in self._where.batches]
        return passes[0] if len(passes) == 1 else _together(passes)

    def _run_batch(self, batch: InputBatch, weight: float, *, is_watched: bool) -> _Pass:
        args, kwargs = clone_inputs((batch.args, dict(batch.kwargs)))
        watching = call_log(self._where.nodes, self._watch.mark) if is_watched else nullcontext(Trace[Any]())
        with watching as trace, self._where.entered(), gc_paused():
            wall, cpu, process = time.perf_counter_ns(), time.thread_time_ns(), time.process_time_ns()
            # Whatever the model raises, the capturing pass has met and recorded it.
            with suppress(Exception):
                self._where.model(*args, **kwargs)
            self._watch.wait()
            ends = time.perf_counter_ns(), time.thread_time_ns(), time.process_time_ns()
        wall_ms, cpu_ms, process_ms = (
            weight * (end - start) / NS_PER_MS for start, end in zip((wall, cpu, process), ends, strict=True)
        )
        return _Pass(wall_ms, cpu_ms, process_ms, *self._by_node(trace, weight))

    def _by_node(self, trace: Trace[Any], weight: float) -> tuple[dict[int, float], dict[int, float]]:
        inclusive: dict[int, float] = {}
        own: dict[int, float] = {}
        for span in trace.spans:
            duration_ms = weight * self._watch.between_ms(span.start, span.end)
            if span.is_outermost:
                inclusive[span.node] = inclusive.get(span.node, 0.0) + duration_ms
            own[span.node] = own.get(span.node, 0.0) + duration_ms
            if span.caller is not None:
                own[span.caller] = own.get(span.caller, 0.0) - duration_ms
        return inclusive, {index: own[index] for index in inclusive}


def _together(passes: Sequence[_Pass]) -> _Pass:
    inclusive, own = (
        {index: sum(times.get(index, 0.0) for times in parts) for index in set().union(*parts)}
        for parts in ([one.inclusive_ms for one in passes], [one.own_ms for one in passes])
    )
    wall, cpu, process = (sum(getattr(one, name) for one in passes) for name in ("wall_ms", "cpu_ms", "process_ms"))
    return _Pass(wall, cpu, process, inclusive, own)
