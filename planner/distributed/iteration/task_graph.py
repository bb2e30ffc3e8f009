"""Tasks of all ranks on their streams: when each runs, who waits for whom, and which chain of them sets the time.

As on a GPU, a stream runs its tasks in the order in which they were issued, so the schedule is a fixed set of sums and
maxima: no task that becomes quicker makes anything later. Ranks that meet in a collective start and end together.

Shape suffixes: T tasks, R ranks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError

__all__ = ["Schedule", "Step", "Task", "schedule_tasks"]

Floats = NDArray[np.float64]
Groups = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Task:
    """One piece of work on every rank: `seconds_R` on the stream `stream`, after the tasks named in `after`.

    Ranks with one number in `meets_R` start together, and end together after the longest of their times; without it
    each rank goes its own way. `phase` is what the task belongs to in an account of the time.
    """

    name: str
    phase: str
    stream: str
    seconds_R: Floats
    after: tuple[str, ...] = ()
    meets_R: Groups | None = None

    def __post_init__(self) -> None:
        if self.seconds_R.ndim != 1 or not self.seconds_R.size:
            raise InputError(f"task {self.name!r}: needs the time of each rank, but got shape {self.seconds_R.shape}")
        if not (np.isfinite(self.seconds_R).all() and (self.seconds_R >= 0).all()):
            raise InputError(f"task {self.name!r}: times must be finite and >= 0, but got {self.seconds_R.min()}")
        if self.meets_R is not None and self.meets_R.shape != self.seconds_R.shape:
            raise InputError(f"task {self.name!r}: {self.meets_R.size} groups for {self.seconds_R.size} ranks")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One task of one rank on the critical path."""

    task: str
    rank: int
    start_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When tasks run: rank r has all that task t needs at `ready_s_TR`, starts at `start_s_TR`, ends at `end_s_TR`."""

    tasks: tuple[Task, ...]
    ready_s_TR: Floats
    start_s_TR: Floats
    end_s_TR: Floats

    @property
    def seconds(self) -> float:
        """When the last task of any rank ends."""
        return float(self.end_s_TR.max())

    def place(self, name: str) -> int:
        """The row of a task.

        Raises:
            InputError: there is none of that name.
        """
        if name not in self._places:
            raise InputError(f"task {name!r}: there is none; there are {', '.join(self._places)}")
        return self._places[name]

    def busy_s(self, streams: Sequence[str]) -> Floats:
        """[R]: how long any of the streams is busy."""
        return self._uncovered(self._rows(streams), [])

    def exposed_s(self, streams: Sequence[str], hidden_by: Sequence[str]) -> Floats:
        """[R]: how long any of the streams is busy while none of `hidden_by` is."""
        return self._uncovered(self._rows(streams), self._rows(hidden_by))

    def exposed_task_s(self, name: str, hidden_by: Sequence[str]) -> Floats:
        """[R]: how long a task runs while none of the streams does."""
        return self._uncovered([self.place(name)], self._rows(hidden_by))

    def waiting_s(self, hidden_by: Sequence[str]) -> Floats:
        """[R]: how long a rank only waits for others to come to a collective, none of the streams being busy."""
        waits = [i for i, task in enumerate(self.tasks) if task.meets_R is not None]
        return _uncovered_s(
            self.ready_s_TR[waits], self.start_s_TR[waits], *self._spans(self._rows(hidden_by)), self._ranks
        )

    def critical_path(self) -> tuple[Step, ...]:
        """The chain of tasks without a pause in which each one waited for the one before; the first one first.

        In a collective it goes on at the rank that came last.
        """
        last = int(self.end_s_TR.max(axis=1).argmax())
        return tuple(self._back_from(last, int(self.end_s_TR[last].argmax())))[::-1]

    def _back_from(self, place: int, rank: int) -> Iterator[Step]:
        while True:
            latest = self._latest(place, rank)
            start_s, end_s = (float(times[place, rank]) for times in (self.start_s_TR, self.end_s_TR))
            if end_s > start_s:
                yield Step(task=self.tasks[place].name, rank=latest, start_s=start_s, end_s=end_s)
            before = self._before[place]
            if not before or start_s <= 0:
                return
            place = max(before, key=lambda i: float(self.end_s_TR[i, latest]))
            rank = latest

    def _latest(self, place: int, rank: int) -> int:
        """The rank that a collective waited for; without one the rank itself."""
        meets_R = self.tasks[place].meets_R
        if meets_R is None:
            return rank
        return int(np.where(meets_R == meets_R[rank], self.ready_s_TR[place], -1.0).argmax())

    @cached_property
    def _places(self) -> dict[str, int]:
        return {task.name: i for i, task in enumerate(self.tasks)}

    @cached_property
    def _before(self) -> list[list[int]]:
        """What each task comes after: named tasks, and the one before it on its stream."""
        last: dict[str, int] = {}
        before = []
        for i, task in enumerate(self.tasks):
            previous = [last[task.stream]] if task.stream in last else []
            before.append([*(self._places[name] for name in task.after), *previous])
            last[task.stream] = i
        return before

    @property
    def _ranks(self) -> int:
        return int(self.end_s_TR.shape[1])

    def _rows(self, streams: Sequence[str]) -> list[int]:
        return [i for i, task in enumerate(self.tasks) if task.stream in streams]

    def _spans(self, rows: list[int]) -> tuple[Floats, Floats]:
        return self.start_s_TR[rows], self.end_s_TR[rows]

    def _uncovered(self, rows: list[int], hidden_by: list[int]) -> Floats:
        return _uncovered_s(*self._spans(rows), *self._spans(hidden_by), self._ranks)


def schedule_tasks(tasks: Sequence[Task]) -> Schedule:
    """When each task runs, issued in this order; a task may come after earlier ones only.

    Raises:
        InputError: no task, two of one name, another number of ranks, or a task after one that is not issued before it.
    """
    if not tasks:
        raise InputError("tasks: there are none")
    ranks = tasks[0].seconds_R.size
    ends: dict[str, Floats] = {}
    free: dict[str, Floats] = {}
    rows = []
    for task in tasks:
        _check(task, ranks, ends)
        ready_R = np.zeros(ranks)
        for end_R in (*(ends[name] for name in task.after), *([free[task.stream]] if task.stream in free else [])):
            ready_R = np.maximum(ready_R, end_R)
        start_R, seconds_R = _together(ready_R, task.meets_R), _together(task.seconds_R, task.meets_R)
        ends[task.name] = free[task.stream] = start_R + seconds_R
        rows.append((ready_R, start_R, ends[task.name]))
    ready, start, end = (np.stack(part) for part in zip(*rows, strict=True))
    return Schedule(tasks=tuple(tasks), ready_s_TR=ready, start_s_TR=start, end_s_TR=end)


def _check(task: Task, ranks: int, ends: dict[str, Floats]) -> None:
    if task.name in ends:
        raise InputError(f"task {task.name!r}: there are two of that name")
    if task.seconds_R.size != ranks:
        raise InputError(f"task {task.name!r}: has {task.seconds_R.size} ranks, others have {ranks}")
    if unknown := [name for name in task.after if name not in ends]:
        raise InputError(f"task {task.name!r}: comes after {', '.join(unknown)}, which is not issued before it")


def _together(values_R: Floats, meets_R: Groups | None) -> Floats:
    """The greatest value of each group, at all its ranks."""
    if meets_R is None:
        return values_R
    greatest = np.full(int(meets_R.max()) + 1, -np.inf)
    np.maximum.at(greatest, meets_R, values_R)
    return greatest[meets_R]


def _uncovered_s(
    start_TR: Floats, end_TR: Floats, hiding_start_HR: Floats, hiding_end_HR: Floats, ranks: int
) -> Floats:
    """[R]: the length of the union of the first spans less that of the second ones, rank by rank."""
    if not start_TR.size:
        return np.zeros(ranks)
    edges_ER = np.sort(np.concatenate((start_TR, end_TR, hiding_start_HR, hiding_end_HR)), axis=0)
    middle_ER = (edges_ER[1:] + edges_ER[:-1]) / 2
    length_ER = np.diff(edges_ER, axis=0)
    counted_ER = _covers(start_TR, end_TR, middle_ER) & ~_covers(hiding_start_HR, hiding_end_HR, middle_ER)
    total_R: Floats = np.where(counted_ER, length_ER, 0.0).sum(axis=0)
    return total_R


def _covers(start_TR: Floats, end_TR: Floats, at_ER: Floats) -> NDArray[np.bool_]:
    covered = np.zeros(at_ER.shape, dtype=bool)
    for start_R, end_R in zip(start_TR, end_TR, strict=True):
        covered |= (start_R < at_ER) & (at_ER < end_R)
    return covered
