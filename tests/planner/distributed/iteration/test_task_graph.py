"""Streams run in order, collectives meet, and nothing becomes later because something became quicker."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.distributed.iteration.task_graph import Task, schedule_tasks
from profiles.errors import InputError

ALL = np.zeros(2, dtype=np.int64)


def task(name: str, stream: str, first: float, second: float, *after: str, meets: bool = False) -> Task:
    return Task(
        name=name,
        phase="forward",
        stream=stream,
        seconds_R=np.array([first, second]),
        after=after,
        meets_R=ALL if meets else None,
    )


EXCHANGE = (
    task("look up", "compute", 1.0, 3.0),
    task("send", "network", 2.0, 1.0, "look up", meets=True),
    task("bottom", "compute", 1.5, 1.5),
    task("top", "compute", 1.0, 1.0, "send"),
)


def test_a_collective_starts_with_its_last_rank_and_ends_with_its_longest() -> None:
    schedule = schedule_tasks(EXCHANGE)
    place = schedule.place("send")
    assert schedule.ready_s_TR[place].tolist() == [1.0, 3.0]
    assert schedule.start_s_TR[place].tolist() == [3.0, 3.0]
    assert schedule.end_s_TR[place].tolist() == [5.0, 5.0]
    assert schedule.seconds == 6.0


def test_the_critical_path_goes_over_the_rank_that_came_last() -> None:
    steps = schedule_tasks(EXCHANGE).critical_path()
    assert [(step.task, step.rank) for step in steps] == [("look up", 1), ("send", 1), ("top", 0)]
    assert sum(step.end_s - step.start_s for step in steps) == 6.0


def test_exposed_time_is_what_no_computation_covers_and_waiting_is_apart() -> None:
    schedule = schedule_tasks(EXCHANGE)
    assert schedule.exposed_s(["network"], ["compute"]).tolist() == [2.0, 0.5]
    assert schedule.exposed_task_s("send", ["compute"]).tolist() == [2.0, 0.5]
    assert schedule.waiting_s(["compute"]).tolist() == [0.5, 0.0]
    assert schedule.busy_s(["compute"]).tolist() == [3.5, 5.5]
    assert schedule.exposed_s(["host"], ["compute"]).tolist() == [0.0, 0.0]


def test_groups_that_do_not_meet_do_not_wait() -> None:
    apart = replace(EXCHANGE[1], meets_R=np.array([0, 1]))
    schedule = schedule_tasks([EXCHANGE[0], apart])
    assert schedule.end_s_TR[1].tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([], "there are none"),
        ([EXCHANGE[0], EXCHANGE[0]], "two of that name"),
        ([EXCHANGE[1]], "comes after look up"),
        ([EXCHANGE[0], replace(EXCHANGE[2], seconds_R=np.ones(3))], "has 3 ranks, others have 2"),
    ],
)
def test_a_graph_that_cannot_run_is_refused(tasks: list[Task], message: str) -> None:
    with pytest.raises(InputError, match=message):
        schedule_tasks(tasks)


@pytest.mark.parametrize("seconds", [np.array([-1.0, 0.0]), np.array([np.nan, 1.0]), np.empty(0), np.ones((2, 2))])
def test_times_that_are_none_are_refused(seconds: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    with pytest.raises(InputError, match="task 'bottom'"):
        replace(EXCHANGE[2], seconds_R=seconds)
    with pytest.raises(InputError, match="1 groups for 2 ranks"):
        replace(EXCHANGE[2], meets_R=np.zeros(1, dtype=np.int64))


def test_an_unknown_task_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="'no': there is none; there are look up, send"):
        schedule_tasks(EXCHANGE).place("no")


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_quicker_task_makes_nothing_later(data: st.DataObject) -> None:
    seconds = st.floats(0.0, 10.0)
    tasks: list[Task] = []
    for i in range(data.draw(st.integers(1, 8))):
        after = data.draw(st.lists(st.sampled_from([t.name for t in tasks]), unique=True)) if tasks else []
        stream = data.draw(st.sampled_from(["compute", "network"]))
        one = task(f"t{i}", stream, data.draw(seconds), data.draw(seconds), *after, meets=stream == "network")
        tasks.append(one)
    quicker = list(tasks)
    place = data.draw(st.integers(0, len(tasks) - 1))
    quicker[place] = replace(tasks[place], seconds_R=tasks[place].seconds_R * data.draw(st.floats(0.0, 1.0)))
    before, after_it = schedule_tasks(tasks), schedule_tasks(quicker)
    assert (after_it.end_s_TR <= before.end_s_TR + 1e-12).all()
    path = before.critical_path()
    assert sum(step.end_s - step.start_s for step in path) == pytest.approx(before.seconds)
