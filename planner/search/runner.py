"""The search: ask, check, train, tell, until enough trials are finished."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from optuna.trial import Trial

from planner.search.candidate import Candidate, candidate_key
from planner.search.evaluation import Predicted, Predictor, Trained, Trainer
from planner.search.executor import InProcessTrials, TrialExecutor
from planner.search.hypervolume import reference_point
from planner.search.journal import Journal
from planner.search.locks import run_lock
from planner.search.manifest import check_manifest
from planner.search.objective import METRICS, infeasible_reason, predicted_costs, violations
from planner.search.progress import SearchProgress
from planner.search.proposals import Proposals, SamplerName
from planner.search.records import SearchResult, TrialRecord, TrialState
from planner.search.screening import screen
from planner.search.storage import open_study
from planner.search.task import SearchTask
from profiles.errors import InputError, MeasurementError

__all__ = ["run_search"]


def run_search(
    task: SearchTask,
    predict: Predictor,
    train: Trainer,
    *,
    directory: Path,
    trials: int | None = None,
    sampler: SamplerName = "tpe",
    executor: Callable[[Trainer], TrialExecutor] = InProcessTrials,
    progress: Callable[[SearchProgress], None] | None = None,
) -> SearchResult:
    """Search until `trials` trials are finished in `directory` (the study's number by default), those of earlier runs
    included.

    A trial that is predicted to break a constraint is finished, but not trained. Equal models are tried once, so a
    small space may be used up with fewer trials. An interrupted search resumes with the trial it was at; run in this
    process, it then goes on as it would have.

    Raises:
        InfeasibleError: no candidate of the space meets the constraints.
        InputError: the folder holds a search that was asked something else, or a corrupt one.
        StorageError: another process is searching in the folder, or it is not writable.
    """
    wanted = task.section.trials if trials is None else trials
    if wanted < 1:
        raise InputError(f"trials: must be >= 1, but got {wanted}")
    with run_lock(directory):
        check_manifest(directory, task)
        objectives = task.section.objectives
        journal = Journal(open_study(directory, objectives), objectives, task.latency_device)
        journal.close_running()
        if journal.finished < wanted:
            screening = screen(task, predict)
            journal.set_reference(reference_point(objectives, task.section.limits, screening.dearest))
            proposals = Proposals(task, journal, screening, sampler)
            with executor(train) as trainer:
                _Run(task, predict, journal, proposals, trainer, wanted, progress).run()
        return journal.result


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    trial: Trial
    candidate: Candidate
    predicted: Predicted


class _Run:
    """One call's worth of trials; what is in training is kept here, all else in the journal."""

    def __init__(
        self,
        task: SearchTask,
        predict: Predictor,
        journal: Journal,
        proposals: Proposals,
        executor: TrialExecutor,
        wanted: int,
        progress: Callable[[SearchProgress], None] | None,
    ) -> None:
        self._task, self._predict = task, predict
        self._journal, self._proposals, self._executor = journal, proposals, executor
        self._wanted, self._progress = wanted, progress
        self._training: dict[int, _Asked] = {}
        self._taken = {candidate_key(trial.model) for trial in journal.result.trials}

    def run(self) -> None:
        """Train until enough trials are finished or the space is used up."""
        try:
            while self._start() or self._training:
                number, trained = self._executor.wait()
                asked = self._training.pop(number)
                self._finish(asked, _trained_record(asked, trained))
        finally:
            self._journal.close_running()

    def _start(self) -> bool:
        """Fill the executor's slots; whether anything was put into training."""
        has_started = False
        slots = self._executor.slots
        while len(self._training) < slots and self._journal.finished + len(self._training) < self._wanted:
            proposal = self._proposals.ask(self._taken)
            if proposal is None:
                break
            has_started |= self._consider(*proposal)
        return has_started

    def _consider(self, trial: Trial, candidate: Candidate) -> bool:
        self._taken.add(candidate.key)
        predicted = self._predict(candidate.model)
        asked = _Asked(trial=trial, candidate=candidate, predicted=predicted)
        costs, limits = predicted_costs(predicted, self._task.latency_device), self._task.section.limits
        for name, excess in violations(costs, limits).items():
            trial.set_constraint(name, excess)
        if reason := infeasible_reason(costs, limits):
            self._finish(asked, _record(asked, state="infeasible", reason=reason))
            return False
        self._executor.submit(trial.number, candidate.model, self._task.training_seed)
        self._training[trial.number] = asked
        return True

    def _finish(self, asked: _Asked, record: TrialRecord) -> None:
        self._journal.finish(asked.trial, record)
        if self._progress is not None:
            self._progress(SearchProgress.of(self._journal.result, self._wanted, record))


def _trained_record(asked: _Asked, trained: Trained | MeasurementError) -> TrialRecord:
    if isinstance(trained, MeasurementError):
        return _record(asked, state="failed", reason=str(trained))
    metrics = {name: float(getattr(trained, name)) for name in METRICS}
    bad = [f"{name} is {value}" for name, value in metrics.items() if not math.isfinite(value)]
    if bad:
        reason = f"{', '.join(bad)} after training"
        return _record(asked, state="failed", reason=reason, train_seconds=trained.seconds)
    return _record(asked, state="complete", train_seconds=trained.seconds, metrics=metrics, test=trained.test)


def _record(
    asked: _Asked,
    *,
    state: TrialState,
    reason: str = "",
    train_seconds: float | None = None,
    metrics: Mapping[str, float] | None = None,
    test: Mapping[str, float] | None = None,
) -> TrialRecord:
    return TrialRecord(
        number=asked.trial.number,
        state=state,
        choices=asked.candidate.choices,
        model=asked.candidate.model,
        latency_ms=asked.predicted.latency_ms,
        parameter_bytes=int(asked.predicted.parameter_bytes),
        flops=float(asked.predicted.flops),
        feasible=state == "complete",
        reason=reason,
        train_seconds=train_seconds,
        test=dict(test or {}),
        **(metrics or {}),
    )
