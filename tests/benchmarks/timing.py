"""Alternatives timed in turn, round after round, so that a slow spell of the machine meets all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Alternative", "Samples", "Spread", "interleave", "rates", "ratios", "spread_of"]

# Per alternative, one value for each round; values of one place were taken in the same round.
Samples = Mapping[str, Sequence[float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """What to time: `calls` calls a round, each of which does `units` units of work."""

    call: Callable[[], object]
    calls: int = 1
    units: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """A figure over rounds: median and quartiles."""

    median: float
    p25: float
    p75: float
    rounds: int

    def to_object(self) -> dict[str, float]:
        """The JSON form."""
        return {"median": self.median, "p25": self.p25, "p75": self.p75, "rounds": self.rounds}


def interleave(
    alternatives: Mapping[str, Alternative], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[str, list[float]]:
    """Seconds per unit of each alternative in each round; the order turns by one place every round.

    Each is called once before the clock runs. The default clock counts CPU time of all threads of the process.
    """
    for alternative in alternatives.values():
        alternative.call()
    names = list(alternatives)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            seconds[name].append(_seconds_per_unit(alternatives[name], clock))
    return seconds


def _seconds_per_unit(alternative: Alternative, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(alternative.calls):
        alternative.call()
    return (clock() - start) / (alternative.calls * alternative.units)


def spread_of(values: Sequence[float]) -> Spread:
    """Median and quartiles of at least one value."""
    if len(values) == 1:
        return Spread(median=values[0], p25=values[0], p75=values[0], rounds=1)
    p25, median, p75 = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median=median, p25=p25, p75=p75, rounds=len(values))


def ratios(over: Sequence[float], under: Sequence[float]) -> Spread:
    """The quotients of two alternatives' values, taken round by round."""
    return spread_of([a / b for a, b in zip(over, under, strict=True)])


def rates(seconds: Sequence[float]) -> Spread:
    """Units per second."""
    return spread_of([1 / value for value in seconds])
