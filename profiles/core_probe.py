"""Whether the core is this thread's own: the time of fixed work, beside the least that it ever took.

A neighbour on the same physical core, on a shared machine another tenant, slows work down by half or more and takes no
time of ours, so that wall over CPU time does not show it. The dispatch of tiny operators, bound by the core's front
end, does. Quiet moments are often as short as tens of milliseconds: wait for one, measure, and look again.
"""

import heapq
import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from profiles.errors import InputError

__all__ = ["CoreProbe", "QuietCore", "core_probe"]

_OPERATORS = 20
# What was measured leaves caches and predictors cold: the first rounds after it are slow whatever the neighbour does.
_ROUNDS = 8
# The least reading may be a fluke; so many that are as low are not.
_LEAST = 3


class CoreProbe:
    """Reads how long fixed work takes, and remembers the least; `work` is a call of some tens of microseconds."""

    def __init__(self, work: Callable[[], object] | None = None) -> None:
        self._work = work or _tiny_operators()
        self._lowest: list[float] = []

    def read(self, enough_us: float = 0.0) -> float:
        """Microseconds of the work, the least of a few rounds; no more of them after one of at most `enough_us`."""
        least_us = float("inf")
        for _ in range(_ROUNDS):
            round_us = self._time_us()
            self.learn(round_us)
            least_us = min(least_us, round_us)
            if least_us <= enough_us:
                break
        return least_us

    def learn(self, reading_us: float) -> None:
        """Take a reading into account that was made earlier, on the same machine."""
        if len(self._lowest) < _LEAST:
            heapq.heappush(self._lowest, -reading_us)
        else:
            heapq.heappushpop(self._lowest, -reading_us)

    @property
    def best_us(self) -> float:
        """The third least reading, or the greatest of fewer; infinite before the first."""
        return -self._lowest[0] if self._lowest else float("inf")

    def _time_us(self) -> float:
        start = time.perf_counter_ns()
        self._work()
        return (time.perf_counter_ns() - start) / 1e3


@cache
def core_probe() -> CoreProbe:
    """The probe of this process: what it learned serves every measurement."""
    return CoreProbe()


class QuietCore:
    """Waits for a quiet core and tells whether it stayed so; a reading within `tolerance` of the best is quiet.

    It waits for at most `patience_s` in all, times the environment's `RECPLAN_PATIENCE` where that is set (0: never):
    a machine that is never quiet is measured as it is.
    """

    def __init__(self, tolerance: float, *, patience_s: float, probe: CoreProbe | None = None) -> None:
        if not tolerance > 0:
            raise InputError(f"quiet core: tolerance must be > 0, but got {tolerance}")
        self._tolerance, self._patience_s = tolerance, patience_s * _patience_factor()
        self._probe = probe or core_probe()
        self._waited_s = self._before_us = 0.0
        self._readings_us: list[float] = []
        self._is_clean = True

    @property
    def limit_us(self) -> float:
        """Readings above this are of a busy core, by what is known now."""
        return self._probe.best_us * (1 + self._tolerance)

    @property
    def waited_s(self) -> float:
        """Spent on waiting so far."""
        return self._waited_s

    def learn(self, reading_us: float) -> None:
        """Take an earlier reading into account."""
        self._probe.learn(reading_us)

    def begin_visit(self) -> None:
        """Forget the readings of the visit before."""
        self._readings_us, self._is_clean = [], True

    def wait(self) -> None:
        """Return when the core is quiet, or patience is at an end."""
        start = time.perf_counter()
        most_s = self._patience_s - self._waited_s
        # Without naps in between: a core that slept is slow for a while, as if it had a neighbour.
        while (reading_us := self._probe.read(self.limit_us)) > self.limit_us and time.perf_counter() - start < most_s:
            pass
        self._before_us = reading_us
        self._waited_s += time.perf_counter() - start

    def stayed(self) -> bool:
        """Whether the core was quiet before and after what was measured since `wait`."""
        worst_us = max(self._before_us, self._probe.read(self.limit_us))
        self._readings_us.append(worst_us)
        return worst_us <= self.limit_us

    def end(self, *, is_clean: bool) -> None:
        """Say whether what is kept of the visit was measured on a quiet core."""
        self._is_clean = self._is_clean and is_clean

    @property
    def core_us(self) -> float | None:
        """The median of this visit's quiet readings, or the worst reading where it was not clean."""
        if not self._is_clean:
            return max(self._readings_us, default=None)
        quiet = sorted(one for one in self._readings_us if one <= self.limit_us)
        return quiet[len(quiet) // 2] if quiet else None


def _patience_factor() -> float:
    given = os.environ.get("RECPLAN_PATIENCE", "1")
    with suppress(ValueError):
        if math.isfinite(factor := float(given)) and factor >= 0:
            return factor
    raise InputError(f"RECPLAN_PATIENCE: must be a number >= 0, but got {given!r}")


def _tiny_operators() -> Callable[[], object]:
    import torch

    tensor_4 = torch.ones(4)

    def work() -> None:
        # One mode for all readings: dispatch costs differ between them.
        with torch.inference_mode():
            for _ in range(_OPERATORS):
                torch.relu(tensor_4)

    return work
