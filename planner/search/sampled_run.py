"""A search whose sampler draws each candidate from the whole space, and trains it to its end."""

from collections.abc import Callable

from optuna.trial import Trial

from planner.search.candidate import Candidate
from planner.search.evaluation import Predictor
from planner.search.executor import TrialExecutor
from planner.search.journal import Journal
from planner.search.objective import infeasible_reason, predicted_costs, violations
from planner.search.outcomes import Asked, infeasible_record, trained_record
from planner.search.pricing import predict_choices
from planner.search.progress import SearchProgress
from planner.search.proposals import Proposals
from planner.search.records import TrialRecord
from planner.search.task import SearchTask

__all__ = ["SampledRun"]


class SampledRun:
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
        self._training: dict[int, Asked] = {}
        self._taken = {task.key_of(trial.choices, trial.model) for trial in journal.result.trials}

    def run(self) -> None:
        """Train until enough trials are finished or the space is used up."""
        try:
            while self._start() or self._training:
                number, trained = self._executor.wait()
                asked = self._training.pop(number)
                self._finish(asked, trained_record(asked, trained))
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
        predicted = predict_choices(self._task, self._predict, candidate.choices, candidate.model)
        asked = Asked(trial=trial, candidate=candidate, predicted=predicted)
        costs, limits = predicted_costs(predicted, self._task.latency_device), self._task.section.limits
        for name, excess in violations(costs, limits).items():
            trial.set_constraint(name, excess)
        if reason := infeasible_reason(costs, limits):
            self._finish(asked, infeasible_record(asked, reason))
            return False
        self._executor.submit(trial.number, candidate.model, self._task.training_seed)
        self._training[trial.number] = asked
        return True

    def _finish(self, asked: Asked, record: TrialRecord) -> None:
        self._journal.finish(asked.trial, record)
        if self._progress is not None:
            self._progress(SearchProgress.of(self._journal.result, self._wanted, record))
