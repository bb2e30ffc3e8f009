"""The front trained again from other seeds, so that a difference smaller than its noise is not called a win."""

from collections.abc import Callable, Iterator

import numpy as np

from planner.search.executor import TrialExecutor
from planner.search.journal import Journal
from planner.search.objective import METRICS
from planner.search.records import Repeat, SearchResult, TrialRecord
from planner.search.task import SearchTask
from profiles.errors import InputError, MeasurementError

__all__ = ["missing_repeats", "repeat_finalists", "repeat_seed"]


def repeat_seed(task: SearchTask, repeat: int) -> int:
    """The seed of a finalist's training anew, `repeat` counting from 1."""
    return int(np.random.SeedSequence([task.training_seed, repeat]).generate_state(1)[0])


def missing_repeats(task: SearchTask, result: SearchResult, seeds: int) -> list[tuple[TrialRecord, int]]:
    """Which members of the front were not trained from which of the seeds, numbered from 1.

    Raises:
        InputError: fewer than one seed.
    """
    if seeds < 1:
        raise InputError(f"finalists: seeds must be >= 1, but got {seeds}")
    return [
        (trial, repeat)
        for repeat in range(1, seeds)
        for trial in result.pareto
        if repeat_seed(task, repeat) not in {one.seed for one in result.repeats.get(trial.number, ())}
    ]


def repeat_finalists(
    task: SearchTask,
    journal: Journal,
    executor: TrialExecutor,
    seeds: int,
    *,
    progress: Callable[[TrialRecord, int, int], None] | None = None,
) -> None:
    """Train every member of the front until `seeds` trainings of it are known, the trial's own included.

    What was trained again in earlier runs is kept. A repeat that cannot be trained is left out.

    Raises:
        InputError: fewer than one seed.
    """
    missing = missing_repeats(task, journal.result, seeds)
    waiting: Iterator[tuple[TrialRecord, int]] = iter(missing)
    under_way: dict[int, tuple[TrialRecord, int]] = {}
    done = started = 0
    while True:
        while len(under_way) < executor.slots and (following := next(waiting, None)) is not None:
            trial, repeat = following
            executor.submit(started, trial.model, repeat_seed(task, repeat))
            under_way[started], started = following, started + 1
        if not under_way:
            return
        job, trained = executor.wait()
        trial, repeat = under_way.pop(job)
        done += 1
        if not isinstance(trained, MeasurementError):
            metrics = {name: float(getattr(trained, name)) for name in METRICS}
            seed = repeat_seed(task, repeat)
            journal.add_repeat(
                trial.number, Repeat(seed=seed, seconds=trained.seconds, test=dict(trained.test), **metrics)
            )
        if progress is not None:
            progress(trial, done, len(missing))
