"""Latency of a module alone: re-run on the inputs that were captured for it."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from statistics import median

from profiles.core_probe import QuietCore
from profiles.errors import MeasurementError
from profiles.model_profile import CallProfile
from profiles.profilers.protocol import Figure, Finding
from profiles.records import Latency
from profiles.timing import Call, Clock, Sample, TimingOptions, summarize, time_visit
from profiles.walk.aggregation import add_latencies, scale_latency
from profiles.walk.capture import CapturedCall
from profiles.walk.interval import interval_share
from profiles.walk.subject import Subject
from profiles.walk.tree import is_compiled

__all__ = ["INTERVAL_FIGURES", "IsolatedRun", "LatencySeries", "Ready", "Timed", "forward_of"]

INTERVAL_FIGURES = (
    Figure(name="interval_share", title="Interval (share of latency)"),
    Figure(name="cold_interval_share", title="Cold interval (share of latency)"),
)

Context = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Timed:
    """What is timed of a call; `refresh` is run, untimed, before each time but the first.

    It was made in the context of the call, and is run there too, but for `is_in_context`.
    """

    call: Call
    refresh: Call | None = None
    is_in_context: bool = True


Ready = Callable[[Subject, CapturedCall], Timed]


def forward_of(subject: Subject, call: CapturedCall) -> Timed:
    """The forward pass; of a module that writes its inputs on new copies of them every time."""
    module, args, kwargs = subject.module, call.args, call.kwargs
    if call.state.autocast and not call.writes_inputs:
        return Timed(lambda: subject.run(call))
    if not call.writes_inputs:
        return Timed(lambda: module(*args, **kwargs))
    held = [call.fresh()]

    def refresh() -> None:
        held[0] = call.fresh()

    return Timed(lambda: subject.run(held[0]), refresh)


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencySeries:
    """Visits of the distinct calls of one module: by visit, and in it by call.

    Once there are `timing.visits` without contention, the others are left aside; `busy` are places of visits during
    which the core was seen to be shared.
    """

    calls: tuple[CapturedCall, ...]
    timing: TimingOptions
    sees_contention: bool
    visits: list[list[tuple[Sample, ...]]] = field(default_factory=list)
    busy: set[int] = field(default_factory=set)

    def add(self, visit: list[tuple[Sample, ...]], *, is_busy: bool) -> None:
        """Take a visit's samples, by call."""
        if is_busy:
            self.busy.add(len(self.visits))
        self.visits.append(visit)

    @property
    def is_clean(self) -> bool:
        """Whether there are enough visits without contention."""
        return len(self._clean()) >= self.timing.visits

    @property
    def used(self) -> list[list[tuple[Sample, ...]]]:
        """The visits that count."""
        return self._clean() if self.is_clean else self.visits

    @property
    def interval_share(self) -> float | None:
        """See `profiles.walk.interval`; of all calls that one pass makes."""
        return interval_share(
            [
                sum(
                    call.count * call.weight * median(sample.latency_ms for sample in samples)
                    for call, samples in zip(self.calls, visit, strict=True)
                )
                for visit in self.used
            ]
        )

    def of_pass(self) -> Latency | None:
        """Latency of all calls that one pass of the model makes; None where there was no visit."""
        pairs = zip(self.by_call(), self.calls, strict=True) if self.visits else ()
        return add_latencies([scale_latency(latency, call.count * call.weight) for latency, call in pairs])

    def by_call(self) -> list[Latency]:
        """Latency of each distinct call made once."""
        return [summarize(visits, sees_contention=self.sees_contention) for visits in zip(*self.used, strict=True)]

    def _clean(self) -> list[list[tuple[Sample, ...]]]:
        most = self.timing.max_wall_over_cpu if self.sees_contention else math.inf
        quiet = [visit for place, visit in enumerate(self.visits) if place not in self.busy]
        return [visit for visit in quiet if all(one.wall_over_cpu <= most for call in visit for one in call)]


@dataclass(kw_only=True, slots=True)
class IsolatedRun:
    """One module at its visits; `failure` tells why they ended early, `spent_s` what they took.

    `ready` makes what is timed of a call. With a `sweeper` each call is timed with swept caches first, which warms
    them for the warm samples. `contexts` make what is entered around every call. With a `core`, samples wait for a
    quiet one.
    """

    subject: Subject
    clock: Clock
    timing: TimingOptions
    sweeper: Call | None = None
    contexts: Sequence[Context] = ()
    ready: Ready = forward_of
    core: QuietCore | None = None
    failure: str = ""
    spent_s: float = 0.0
    warm: LatencySeries = field(init=False)
    cold: LatencySeries = field(init=False)

    def __post_init__(self) -> None:
        calls, sees_contention = self.subject.calls, self.clock.sees_contention
        self.warm = LatencySeries(calls=calls, timing=self.timing, sees_contention=sees_contention)
        self.cold = LatencySeries(calls=calls, timing=self.timing, sees_contention=sees_contention)

    def visit(self, *, warm: bool = True, cold: bool = True) -> None:
        """One visit of every distinct call; a module that raises is not visited again."""
        if self.failure:
            return
        start, sweeper = time.perf_counter(), self.sweeper if cold else None
        if self.core:
            self.core.begin_visit()
        try:
            cold_and_warm = [self._time(call, sweeper, takes_warm=warm) for call in self.subject.calls]
        except Exception as error:  # noqa: BLE001 (what a module alone may raise is up to the user's code)
            self.failure = str(error) if isinstance(error, MeasurementError) else f"{type(error).__name__}: {error}"
            return
        is_busy = self.core is not None and (self.core.core_us or 0.0) > self.core.limit_us
        if sweeper:
            self.cold.add([samples for samples, _ in cold_and_warm], is_busy=is_busy)
        if warm:
            self.warm.add([samples for _, samples in cold_and_warm], is_busy=is_busy)
        self.spent_s += time.perf_counter() - start

    def finding(self) -> Finding:
        """The latencies of all calls that one pass of the model makes; none where the module raised."""
        if self.failure:
            return Finding()
        figures = {"warm": self.warm.of_pass(), "interval_share": self.warm.interval_share}
        if self.sweeper:
            figures |= {"cold": self.cold.of_pass(), "cold_interval_share": self.cold.interval_share}
        return Finding(figures=figures)

    def call_profiles(self, labels: Sequence[str]) -> tuple[CallProfile, ...]:
        """Each distinct call by itself; `labels` name the batches, an empty one by its place."""
        warm, cold = self.warm.by_call(), self.cold.by_call()
        return tuple(
            CallProfile(
                path=self.subject.path,
                batch=labels[call.batch] or str(call.batch),
                signature=call.signature,
                count=call.count,
                phase=self.subject.phase,
                weight=call.weight,
                samples=call.samples,
                warm=warm[place] if warm else None,
                cold=cold[place] if cold else None,
            )
            for place, call in enumerate(self.subject.calls)
        )

    def _time(
        self, call: CapturedCall, sweeper: Call | None, *, takes_warm: bool
    ) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
        cold: tuple[Sample, ...] = ()
        with self._entered(call):
            timed = self.ready(self.subject, call)
        with self._entered(call) if timed.is_in_context else nullcontext():
            if sweeper:
                before = _one_after_another(timed.refresh, sweeper)
                cold = time_visit(timed.call, self.clock, self.timing, before, warm_up=self._is_fresh(), core=self.core)
            if not takes_warm:
                return cold, ()
            warm = time_visit(timed.call, self.clock, self.timing, timed.refresh, warm_up=not sweeper, core=self.core)
            return cold, warm

    def _is_fresh(self) -> bool:
        """What was captured has run before; what was prepared since, or is compiled, may have to get ready first."""
        module = self.subject.module
        is_ready = module is self.subject.original and not any(map(is_compiled, module.modules()))
        return not (is_ready or self.warm.visits or self.cold.visits)

    @contextmanager
    def _entered(self, call: CapturedCall) -> Iterator[None]:
        with ExitStack() as stack:
            for make in self.contexts:
                stack.enter_context(make())
            stack.enter_context(self.subject.context(call))
            yield


def _one_after_another(first: Call | None, second: Call) -> Call:
    if first is None:
        return second
    return lambda: (first(), second())
