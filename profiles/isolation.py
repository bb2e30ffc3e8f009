"""Latency of a module alone: re-run on the inputs that were captured for it."""

from dataclasses import dataclass, field

import torch
from torch import nn

from profiles.aggregation import add_latencies, scale_latency
from profiles.capture import CapturedCall
from profiles.records import Latency
from profiles.timing import Call, Clock, Sample, TimingOptions, summarize, time_visit

__all__ = ["IsolatedRun"]


@dataclass(kw_only=True, slots=True)
class IsolatedRun:
    """The samples of one module taken so far, per distinct call; `failure` tells why it ended early."""

    module: nn.Module
    calls: list[CapturedCall]
    clock: Clock
    failure: str = ""
    _visits: list[list[tuple[Sample, ...]]] = field(default_factory=list)

    def visit(self, timing: TimingOptions, before: Call | None = None) -> None:
        """One visit of every distinct call; a module that raises is not visited again."""
        if self.failure:
            return
        try:
            # No inference mode: what a user's module may cache in it could never be trained afterwards.
            with torch.no_grad():
                samples = [self._time(call, timing, before) for call in self.calls]
        except Exception as error:  # noqa: BLE001 (what a module alone may raise is up to the user's code)
            self.failure = f"{type(error).__name__}: {error}"
        else:
            self._visits.append(samples)

    def latency(self) -> Latency | None:
        """Latency of all calls that one pass of the model makes, or None where the module raised or was not called."""
        if self.failure or not self._visits or not self.calls:
            return None
        by_call = zip(*self._visits, strict=True)
        sees_contention = self.clock.sees_contention
        return add_latencies(
            [
                scale_latency(summarize(visits, sees_contention=sees_contention), call.count)
                for call, visits in zip(self.calls, by_call, strict=True)
            ]
        )

    def _time(self, call: CapturedCall, timing: TimingOptions, before: Call | None) -> tuple[Sample, ...]:
        return time_visit(lambda: self.module(*call.args, **call.kwargs), self.clock, timing, before)
