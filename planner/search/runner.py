"""The search: ask, check, train, tell, until enough trials are finished."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from planner.search.evaluation import Predictor, Trainer, rungs_of
from planner.search.executor import InProcessTrials, TrialExecutor
from planner.search.finalists import missing_repeats, repeat_finalists
from planner.search.guided_run import Budget, GuidedRun
from planner.search.hypervolume import reference_point
from planner.search.journal import Journal
from planner.search.locks import run_lock
from planner.search.manifest import MANIFEST, check_manifest
from planner.search.progress import SearchProgress
from planner.search.proposals import Proposals, SamplerName
from planner.search.records import SearchResult, TrialRecord
from planner.search.sampled_run import SampledRun
from planner.search.screening import screen
from planner.search.storage import JOURNAL, open_study, sole_use
from planner.search.task import SearchTask
from planner.search.warm_start import earlier_prior
from profiles.errors import InputError, RecplanError

__all__ = ["SearchMethod", "run_search"]

SearchMethod = SamplerName | Literal["guided"]


def run_search(
    task: SearchTask,
    predict: Predictor,
    train: Trainer,
    *,
    directory: Path,
    trials: int | None = None,
    sampler: SearchMethod = "tpe",
    seconds: float | None = None,
    finalist_seeds: int = 1,
    storage: str | None = None,
    warm_start: Sequence[SearchResult] = (),
    executor: Callable[[Trainer], TrialExecutor] = InProcessTrials,
    progress: Callable[[SearchProgress], None] | None = None,
) -> SearchResult:
    """Search until `trials` trials are finished in `directory` (the study's number by default), those of earlier runs
    included.

    The sampler `guided` chooses among the screened candidates by the expected gain of hypervolume for the seconds of
    training it takes, and trains rung by rung where the trainer has rungs: then `trials` are whole trainings' worth,
    and no training is begun that would not end within `seconds` of training. The others draw from the space.

    A trial that is predicted to break a constraint is finished, but not trained. Equal models are tried once, so a
    small space may be used up with fewer trials. An interrupted search resumes with the trial it was at; run in this
    process, it then goes on as it would have, as far as it does not choose by how long trainings took. One that ended
    before its first trial leaves the folder free for another question.

    Trials are kept in the folder, or at `storage`, the URL of a database. `warm_start` are finished searches from which
    a guided one takes what to expect. Members of the front are trained from `finalist_seeds` seeds in all.

    Raises:
        InfeasibleError: no candidate of the space meets the constraints.
        InputError: the folder holds a search that was asked something else, or a corrupt one.
        StorageError: another process is searching in the folder, or it is not writable, or the database is not.
    """
    wanted = task.section.trials if trials is None else trials
    if wanted < 1:
        raise InputError(f"trials: must be >= 1, but got {wanted}")
    if seconds is not None and not seconds > 0:
        raise InputError(f"seconds: must be > 0, but got {seconds}")
    with run_lock(directory):
        check_manifest(directory, task)
        with sole_use(directory, storage):
            objectives = task.section.objectives
            journal = Journal(open_study(directory, objectives, storage), objectives, task.latency_device)
            journal.close_running()
            plan = _Plan(wanted=wanted, sampler=sampler, seconds=seconds, seeds=finalist_seeds, earlier=warm_start)
            if plan.has_trials_left(journal) or missing_repeats(task, journal.result, finalist_seeds):
                with _forgotten_if_empty(directory, journal), executor(train) as trials_executor:
                    _search(task, predict, journal, trials_executor, plan, rungs_of(train), progress)
            return journal.result


@contextmanager
def _forgotten_if_empty(directory: Path, journal: Journal) -> Iterator[None]:
    """Where bad input ends the search before its first trial, let the folder be asked anew."""
    try:
        yield
    except RecplanError:
        if not journal.study.get_trials(deepcopy=False):
            for name in (MANIFEST, JOURNAL):
                (directory / name).unlink(missing_ok=True)
        raise


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """What is to be done in one call."""

    wanted: int
    sampler: SearchMethod
    seconds: float | None
    seeds: int
    earlier: Sequence[SearchResult]

    def has_trials_left(self, journal: Journal) -> bool:
        """Whether more trials are wanted; `trials` of a guided search are whole trainings' worth."""
        done = journal.trainings if self.sampler == "guided" else journal.finished
        return done < self.wanted


def _search(
    task: SearchTask,
    predict: Predictor,
    journal: Journal,
    executor: TrialExecutor,
    plan: _Plan,
    rungs: tuple[float, ...],
    progress: Callable[[SearchProgress], None] | None,
) -> None:
    if plan.has_trials_left(journal):
        screening = screen(task, predict)
        objectives, limits = task.section.objectives, task.section.limits
        journal.set_reference(reference_point(objectives, limits, screening.dearest))
        journal.set_screened(screening.counts)
        if plan.sampler == "guided":
            prior = earlier_prior(plan.earlier, objectives)
            budget = Budget(trainings=plan.wanted, seconds=plan.seconds)
            GuidedRun(
                task, predict, journal, screening, executor, budget, rungs=rungs, progress=progress, prior=prior
            ).run()
        else:
            proposals = Proposals(task, journal, screening, plan.sampler)
            SampledRun(task, predict, journal, proposals, executor, plan.wanted, progress).run()

    def tell(trial: TrialRecord, done: int, of: int) -> None:
        if progress is not None:
            finished = journal.trainings if plan.sampler == "guided" else journal.finished
            note = f"front from other seeds: {done} of {of} trained"
            progress(SearchProgress.of(journal.result, plan.wanted, trial, finished, note))

    repeat_finalists(task, journal, executor, plan.seeds, progress=tell)
