"""Latency by repeated visits: short calls are batched, contended samples retaken, the spread always kept.

A *sample* is the mean time of `repeats` calls, so many that it lasts long enough for the clock; a *visit* is a run of
samples; a *latency* is the quartile, median and spread of the samples of at least three visits apart in time.
"""

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from profiles.core_probe import QuietCore
from profiles.errors import InputError, MeasurementError
from profiles.records import Latency
from profiles.units import NS_PER_MS
from profiles.visits import Sample

__all__ = [
    "Call",
    "Clock",
    "CudaClock",
    "Reading",
    "Sample",
    "TimingOptions",
    "WallClock",
    "clock_for",
    "gc_paused",
    "measure_latency",
    "summarize",
    "time_visit",
]

Call = Callable[[], object]

_RUN_MS = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TimingOptions:
    """How long to measure.

    A visit lasts `seconds_per_visit`, longer where `min_samples` need it, but never starts a sample after
    `max_seconds_per_visit`. Contended samples (wall over CPU time above `max_wall_over_cpu`) are retaken for at most
    another `seconds_per_visit`. A sample lasts at least `min_sample_ms`.
    """

    visits: int = 3
    seconds_per_visit: float = 0.03
    max_seconds_per_visit: float = 2.0
    min_samples: int = 5
    max_samples: int = 400
    min_sample_ms: float = 0.05
    max_wall_over_cpu: float = 1.05

    def __post_init__(self) -> None:
        if self.visits < 3:
            raise InputError(f"timing: visits must be >= 3, but got {self.visits}")
        if not 1 <= self.min_samples <= self.max_samples:
            raise InputError(
                f"timing: must be 1 <= min_samples <= max_samples, but got {self.min_samples} and {self.max_samples}"
            )
        if not 0 < self.seconds_per_visit <= self.max_seconds_per_visit:
            raise InputError(
                "timing: must be 0 < seconds_per_visit <= max_seconds_per_visit, "
                f"but got {self.seconds_per_visit} and {self.max_seconds_per_visit}"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One reading of a clock over a batch of calls; `cpu_ms` is the calling thread's."""

    latency_ms: float
    wall_ms: float
    cpu_ms: float


class Clock(Protocol):
    """Reads the time of a batch of calls."""

    @property
    def sees_contention(self) -> bool:
        """Whether wall over CPU time tells of contention, as it does where the calling thread does the work."""
        ...

    def read(self, call: Call, repeats: int) -> Reading:
        """Time `repeats` calls one after another, until their work is done."""
        ...


class WallClock:
    """Wall and thread CPU time; for devices whose work is done when the call returns."""

    sees_contention = True

    def read(self, call: Call, repeats: int) -> Reading:
        """Time the calls by the monotonic clock."""
        rounds = range(repeats)
        cpu_start = time.thread_time_ns()
        start = time.perf_counter_ns()
        for _ in rounds:
            call()
        wall_ns = time.perf_counter_ns() - start
        cpu_ns = time.thread_time_ns() - cpu_start
        return Reading(latency_ms=wall_ns / NS_PER_MS, wall_ms=wall_ns / NS_PER_MS, cpu_ms=cpu_ns / NS_PER_MS)


class CudaClock:
    """CUDA events on the current stream; launch gaps between the calls count, as they do in a model."""

    sees_contention = False

    def __init__(self, torch_name: str) -> None:
        import torch

        self._torch = torch
        self._device = torch.device(torch_name)

    def read(self, call: Call, repeats: int) -> Reading:
        """Time the calls by two events, and wait for the device."""
        cuda = self._torch.cuda
        with cuda.device(self._device):
            start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
            cuda.synchronize()
            cpu_start, wall_start = time.thread_time_ns(), time.perf_counter_ns()
            start.record()
            for _ in range(repeats):
                call()
            end.record()
            cuda.synchronize()
            wall_ns = time.perf_counter_ns() - wall_start
            cpu_ns = time.thread_time_ns() - cpu_start
        return Reading(latency_ms=start.elapsed_time(end), wall_ms=wall_ns / NS_PER_MS, cpu_ms=cpu_ns / NS_PER_MS)


def clock_for(torch_name: str) -> Clock:
    """The clock that suits a torch device such as `cpu` or `cuda:0`."""
    return CudaClock(torch_name) if torch_name.startswith("cuda") else WallClock()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Keep the garbage collector from running; it is left as it was found."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def time_visit(
    call: Call,
    clock: Clock,
    options: TimingOptions,
    before: Call | None = None,
    *,
    warm_up: bool = True,
    core: QuietCore | None = None,
) -> tuple[Sample, ...]:
    """The samples of one visit, after an untimed call unless the caller has just made one (`warm_up`).

    `before` runs untimed before every sample, which is then of a single call: sweep the caches there for cold samples.
    With a `core`, samples are taken while it is quiet; those during which it was not count as contended.
    """
    with gc_paused():
        if warm_up:
            call()
        start = time.perf_counter()
        repeats, taken = (1, None) if before else _calibrate(call, clock, options.min_sample_ms)
        samples = [taken] if taken and not core else []
        clean: list[Sample] = []
        contended: list[Sample] = []
        elapsed_s = 0.0
        while not _is_done(len(clean), len(contended), elapsed_s, options):
            if core:
                core.wait()
                start = time.perf_counter()
            samples = samples or _run_of_samples(call, clock, repeats, before, most=options.min_samples if core else 1)
            elapsed_s += time.perf_counter() - start
            was_quiet = core.stayed() if core else True
            for sample in samples:
                is_clean = not clock.sees_contention or sample.wall_over_cpu <= options.max_wall_over_cpu
                (clean if is_clean and was_quiet else contended).append(sample)
            samples, start = [], time.perf_counter()
    has_clean = len(clean) >= options.min_samples
    if core:
        core.end(is_clean=has_clean)
    # Too few clean ones say less than all of them; the recorded ratio then tells of the contention.
    return tuple(clean) if has_clean else (*clean, *contended)


def summarize(visits: Sequence[Sequence[Sample]], *, sees_contention: bool = True) -> Latency:
    """Quartile, median and spread over the samples of all visits.

    Raises:
        MeasurementError: there is no sample.
    """
    samples = [sample for visit in visits for sample in visit]
    if not samples:
        raise MeasurementError(f"no sample in {len(visits)} visits")
    p25, median, p75 = np.percentile([sample.latency_ms for sample in samples], (25, 50, 75))
    cpu_ms = sum(sample.cpu_ms for sample in samples)
    wall_ms = sum(sample.wall_ms for sample in samples)
    return Latency(
        p25_ms=float(p25),
        median_ms=float(median),
        iqr_ms=float(p75 - p25),
        n=len(samples),
        visits=len(visits),
        cpu_ms=cpu_ms / len(samples),
        wall_over_cpu=wall_ms / cpu_ms if sees_contention and cpu_ms > 0 else None,
    )


def measure_latency(
    call: Call,
    *,
    device: str = "cpu",
    options: TimingOptions | None = None,
    before: Call | None = None,
    gap_s: float = 0.02,
    core: QuietCore | None = None,
) -> Latency:
    """The latency of one call on a torch device, in visits `gap_s` apart; see `time_visit` for `before` and `core`.

    Callers that measure many things at once do better to visit them in turn: `time_visit`, then `summarize`.
    """
    options = options or TimingOptions()
    clock = clock_for(device)
    visits = []
    for visit in range(options.visits):
        if visit:
            time.sleep(gap_s)
        visits.append(time_visit(call, clock, options, before, core=core))
    return summarize(visits, sees_contention=clock.sees_contention)


def _run_of_samples(call: Call, clock: Clock, repeats: int, before: Call | None, most: int) -> list[Sample]:
    """Samples one after the other until they last as long as a core is likely to stay quiet, or there are `most`."""
    samples: list[Sample] = []
    wall_ms = 0.0
    while not samples or (len(samples) < most and wall_ms < _RUN_MS):
        if before:
            before()
        reading = clock.read(call, repeats)
        wall_ms += reading.wall_ms
        samples.append(_sample(reading, repeats))
    return samples


def _calibrate(call: Call, clock: Clock, min_sample_ms: float) -> tuple[int, Sample]:
    """Calls per sample, raised until a batch lasts long enough, and the sample that the last batch is."""
    repeats = 1
    while (reading := clock.read(call, repeats)).wall_ms < min_sample_ms:
        wanted = repeats * min_sample_ms / max(reading.wall_ms, 1e-6)
        # A batch that only just fits must not creep up call by call.
        repeats = max(2 * repeats, math.ceil(wanted))
    return repeats, _sample(reading, repeats)


def _sample(reading: Reading, repeats: int) -> Sample:
    return Sample(
        latency_ms=reading.latency_ms / repeats, wall_ms=reading.wall_ms / repeats, cpu_ms=reading.cpu_ms / repeats
    )


def _is_done(clean: int, contended: int, elapsed_s: float, options: TimingOptions) -> bool:
    taken = clean + contended
    if taken and elapsed_s >= options.max_seconds_per_visit:
        return True
    if taken >= 2 * options.max_samples:
        return True
    if clean >= options.min_samples:
        return elapsed_s >= options.seconds_per_visit or clean >= options.max_samples
    # Retaking: as long again for clean samples, then contended ones have to do.
    return taken >= options.min_samples and elapsed_s >= 2 * options.seconds_per_visit
