"""Visit modules in turn, so that the visits of each are apart in time, and again where they disagree."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from profiles.profile_options import ProfileOptions, ProfileProgress
from profiles.walk.isolation import IsolatedRun
from profiles.walk.profiler_runs import ProfilerRuns
from profiles.walk.tree import ModuleNode

__all__ = ["MOST_VISITS", "Progress", "Visited", "visit_in_turn"]

Progress = Callable[[ProfileProgress], None]
# However far the visits of a module are apart, it is not visited more often than so many times what was asked for.
MOST_VISITS = 20


@dataclass(frozen=True, slots=True)
class Visited:
    """One module in one phase, and what measures it; `left_out` tells why nothing does."""

    node: ModuleNode
    run: IsolatedRun
    profilers: ProfilerRuns
    left_out: str = ""


def visit_in_turn(
    work: Sequence[Visited],
    options: ProfileOptions,
    rounds: int,
    before_round: Callable[[int], None],
    progress: Progress | None = None,
) -> None:
    """`options.visits` latency visits of all and `rounds` of the profilers, then more where the interval is too wide.

    So it is where there were fewer visits without contention.
    These further ones take at most a third as long as the first, or end with `options.budget_s`; warm ones come first,
    and of these the cheapest.
    """
    tally = _Tally(progress, rounds * len(work))
    for place in range(rounds):
        before_round(place)
        for item in work:
            if place < options.visits:
                item.run.visit()
            if not item.run.failure:
                item.profilers.visit(place)
            tally.tell(item.run.subject.path)
    timed_s = sum(item.run.spent_s for item in work)
    left_s = timed_s / 3 if options.budget_s is None else options.budget_s - tally.elapsed_s
    for is_cold in (False, True):
        left_s = _settle([item.run for item in work], options, left_s, tally, is_cold=is_cold)


def _settle(
    runs: Sequence[IsolatedRun], options: ProfileOptions, left_s: float, tally: "_Tally", *, is_cold: bool
) -> float:
    """Visit again what is not settled while there is time; returns the time that is left."""
    while True:
        waiting = sorted((run for run in runs if _is_unsettled(run, options, is_cold=is_cold)), key=_cost_s)
        affordable = [run for run in waiting if _cost_s(run) <= left_s]
        if not affordable:
            return left_s
        tally.plan(len(affordable))
        for run in affordable:
            if _cost_s(run) <= left_s:
                spent_s = run.spent_s
                run.visit(warm=not is_cold, cold=is_cold)
                left_s -= run.spent_s - spent_s
            tally.tell(run.subject.path)


def _is_unsettled(run: IsolatedRun, options: ProfileOptions, *, is_cold: bool) -> bool:
    series = run.cold if is_cold else run.warm
    if run.failure or not options.visits <= len(series.visits) < MOST_VISITS * options.visits:
        return False
    share = series.interval_share
    return not series.is_clean or (share is not None and share > options.interval)


def _cost_s(run: IsolatedRun) -> float:
    """Of a visit, as the earlier ones were."""
    return run.spent_s / max(len(run.warm.visits) + len(run.cold.visits), 1)


class _Tally:
    """Counts visits, and tells."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._start, self._progress, self._done, self._total = time.perf_counter(), progress, 0, total

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self._start

    def plan(self, visits: int) -> None:
        self._total += visits

    def tell(self, path: str) -> None:
        self._done += 1
        if self._progress:
            done, total, elapsed_s = self._done, self._total, self.elapsed_s
            remaining_s = elapsed_s / done * (total - done)
            self._progress(
                ProfileProgress(path=path, done=done, total=total, elapsed_s=elapsed_s, remaining_s=remaining_s)
            )
