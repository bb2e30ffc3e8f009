from collections.abc import Iterator
from itertools import chain, cycle, repeat
from typing import Any

import torch
from torch import nn

from profiles.profile_options import ProfileOptions, ProfileProgress
from profiles.timing import Reading, TimingOptions
from profiles.walk.capture import CapturedCall
from profiles.walk.isolation import IsolatedRun
from profiles.walk.profiler_runs import ProfilerRuns
from profiles.walk.subject import Subject
from profiles.walk.tree import module_tree
from profiles.walk.visiting import MOST_VISITS, Visited, visit_in_turn
from tests.profiles.plug_ins import Counting

ONE_SAMPLE = TimingOptions(seconds_per_visit=1e-6, min_samples=1, max_samples=1, min_sample_ms=0.0)


class Scripted:
    """A clock that reads given times."""

    sees_contention = True

    def __init__(self, times_ms: Iterator[float]) -> None:
        self._times_ms = times_ms
        self.wall_over_cpu = 1.0

    def read(self, call: Any, repeats: int) -> Reading:
        for _ in range(repeats):
            call()
        time_ms = repeats * next(self._times_ms)
        return Reading(latency_ms=time_ms, wall_ms=time_ms, cpu_ms=time_ms / self.wall_over_cpu)


def visited(path: str, times_ms: Iterator[float], *profilers: Counting) -> Visited:
    module = nn.Identity()
    call = CapturedCall(args=(torch.ones(1),), kwargs={}, signature="")
    subject = Subject(path=path, module=module, original=module, calls=(call,))
    run = IsolatedRun(subject=subject, clock=Scripted(times_ms), timing=ONE_SAMPLE)
    return Visited(module_tree(module)[0], run, ProfilerRuns([(one, one) for one in profilers], subject))


def visits(item: Visited) -> int:
    return len(item.run.warm.visits)


def test_modules_are_visited_in_turn_after_the_pass_of_the_round() -> None:
    log: list[str] = []
    work = [visited(path, repeat(1.0), Counting(visits=2, log=log)) for path in "ab"]
    visit_in_turn(work, ProfileOptions(), 3, lambda place: log.append(f"round {place}"))
    assert log[2:] == ["round 0", "visit a", "visit b", "round 1", "visit a", "visit b", "round 2"]
    assert [visits(item) for item in work] == [3, 3]


def test_only_what_is_not_settled_is_visited_again() -> None:
    steady, settling = visited("a", repeat(1.0)), visited("b", chain((1.0, 1.1, 1.05), repeat(1.05)))
    never = visited("c", cycle((1.0, 9.0)))
    visit_in_turn([steady, settling, never], ProfileOptions(budget_s=60.0), 3, lambda _: None)
    assert visits(steady) == 3
    assert 3 < visits(settling) < visits(never) == 3 * MOST_VISITS
    assert (settling.run.warm.interval_share or 1.0) <= 0.05


def test_visits_under_contention_are_made_again() -> None:
    item = visited("a", repeat(1.0))
    clock = item.run.clock
    assert isinstance(clock, Scripted)
    clock.wall_over_cpu = 2.0
    visit_in_turn([item], ProfileOptions(budget_s=60.0), 3, lambda _: None)
    assert visits(item) == 3 * MOST_VISITS


def test_the_budget_ends_further_visits() -> None:
    never = visited("c", cycle((1.0, 9.0)))
    visit_in_turn([never], ProfileOptions(budget_s=0.0), 3, lambda _: None)
    assert visits(never) == 3


def test_without_a_budget_the_first_visits_decide_how_long_further_ones_may_take() -> None:
    settled, never = visited("a", repeat(1.0)), visited("b", cycle((1.0, 9.0)))
    settled.run.spent_s = 300.0
    visit_in_turn([settled, never], ProfileOptions(), 3, lambda _: None)
    assert (visits(settled), visits(never)) == (3, 3 * MOST_VISITS)


def test_progress_tells_of_every_visit_and_what_is_left() -> None:
    told: list[ProfileProgress] = []
    work = [visited("a", repeat(1.0)), visited("b", repeat(1.0))]
    visit_in_turn(work, ProfileOptions(), 3, lambda _: None, told.append)
    assert [(one.path, one.done) for one in told] == [(path, done + 1) for done, path in enumerate("ababab")]
    assert {one.total for one in told} == {6}
    assert told[0].remaining_s > told[-1].remaining_s == 0
