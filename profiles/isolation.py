"""Latency of a module alone: re-run on the inputs that were captured for it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from operator import mul
from statistics import median

from profiles.aggregation import add_latencies, scale_latency
from profiles.capture import CapturedCall
from profiles.interval import interval_share
from profiles.model_profile import CallProfile
from profiles.profilers.protocol import Finding
from profiles.records import Latency
from profiles.subject import Subject
from profiles.timing import Call, Clock, Sample, TimingOptions, summarize, time_visit

__all__ = ["IsolatedRun"]

# By visit, and in it by call.
Visits = list[list[tuple[Sample, ...]]]


@dataclass(kw_only=True, slots=True)
class IsolatedRun:
    """The samples of one module taken so far, per distinct call; `failure` tells why it ended early.

    With a `sweeper` each call is timed with swept caches first, which warms them for the warm samples. `contexts` make
    what is entered around every call.
    """

    subject: Subject
    clock: Clock
    timing: TimingOptions
    sweeper: Call | None = None
    contexts: Sequence[Callable[[], AbstractContextManager[object]]] = ()
    failure: str = ""
    _warm: Visits = field(default_factory=list)
    _cold: Visits = field(default_factory=list)

    def visit(self) -> None:
        """One visit of every distinct call; a module that raises is not visited again."""
        if self.failure:
            return
        try:
            cold_and_warm = [self._time(call) for call in self.subject.calls]
        except Exception as error:  # noqa: BLE001 (what a module alone may raise is up to the user's code)
            self.failure = f"{type(error).__name__}: {error}"
        else:
            if self.sweeper:
                self._cold.append([cold for cold, _ in cold_and_warm])
            self._warm.append([warm for _, warm in cold_and_warm])

    @property
    def interval_share(self) -> float | None:
        """Half the 95 % interval of the latency over the latency: the widest of those asked for; None if not run."""
        shares = [self._interval_share(visits) for visits in (self._warm, self._cold)]
        known = [share for share in shares if share is not None]
        return max(known, default=None)

    def finding(self) -> Finding:
        """The latencies of all calls that one pass of the model makes; none where the module raised."""
        if self.failure or not self._warm:
            return Finding()
        figures = {"warm": self._latency(self._warm), "interval_share": self._interval_share(self._warm)}
        if self._cold:
            figures |= {"cold": self._latency(self._cold), "cold_interval_share": self._interval_share(self._cold)}
        return Finding(figures=figures)

    def call_profiles(self, labels: Sequence[str]) -> tuple[CallProfile, ...]:
        """Each distinct call by itself; `labels` name the batches."""
        warm, cold = (self._by_call(visits) for visits in (self._warm, self._cold))
        return tuple(
            CallProfile(
                path=self.subject.path,
                batch=labels[call.batch],
                signature=call.signature,
                count=call.count,
                warm=warm[place] if warm else None,
                cold=cold[place] if cold else None,
            )
            for place, call in enumerate(self.subject.calls)
        )

    def _latency(self, visits: Visits) -> Latency | None:
        pairs = zip(self._by_call(visits), self.subject.calls, strict=True)
        return add_latencies([scale_latency(latency, call.count * call.weight) for latency, call in pairs])

    def _by_call(self, visits: Visits) -> list[Latency]:
        sees_contention = self.clock.sees_contention
        return [summarize(of_call, sees_contention=sees_contention) for of_call in zip(*visits, strict=True)]

    def _interval_share(self, visits: Visits) -> float | None:
        counts = [call.count * call.weight for call in self.subject.calls]
        return interval_share([sum(map(mul, counts, map(_median_ms, visit))) for visit in visits])

    def _time(self, call: CapturedCall) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
        def run() -> object:
            return self.subject.run(call)

        with self._entered(call):
            # What was captured has run before; what was prepared since has to get ready first.
            is_fresh = not self._warm and self.subject.module is not self.subject.original
            cold = time_visit(run, self.clock, self.timing, self.sweeper, warm_up=is_fresh) if self.sweeper else ()
            return cold, time_visit(run, self.clock, self.timing, warm_up=not self.sweeper)

    @contextmanager
    def _entered(self, call: CapturedCall) -> Iterator[None]:
        with ExitStack() as stack:
            for make in self.contexts:
                stack.enter_context(make())
            stack.enter_context(self.subject.context(call))
            yield


def _median_ms(samples: Sequence[Sample]) -> float:
    return median(sample.latency_ms for sample in samples)
