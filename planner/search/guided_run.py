"""A search that trains what promises most of the screened candidates, rung by rung."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from optuna.samplers import RandomSampler
from optuna.trial import Trial

from planner.search.candidate import Candidate, candidate_key
from planner.search.evaluation import Predictor, RungStep, Trained
from planner.search.executor import TrialExecutor
from planner.search.guide import Guide, Prior
from planner.search.guide_features import described
from planner.search.hypervolume import ideal_costs
from planner.search.journal import Journal
from planner.search.objective import METRICS, infeasible_reason, objective_costs, predicted_costs, violations
from planner.search.outcomes import Asked, infeasible_record, rung_score, stopped_record, trained_record
from planner.search.pool import Pool
from planner.search.pricing import predict_choices
from planner.search.progress import SearchProgress
from planner.search.proposals import first_candidates
from planner.search.records import RungScore, TrialRecord
from planner.search.screening import Screened, Screening
from planner.search.task import SearchTask
from planner.search.wishes import sampler_wishes
from profiles.errors import MeasurementError

__all__ = ["Budget", "GuidedRun", "pool_of"]

# So many of the candidates that the limits rule out are kept among the trials, with their costs and the reason.
_MOST_RULED_OUT = 4
# So often TPE is asked for so many candidates.
_WISHES_EVERY, _WISHES = 6, 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """Whole trainings' worth, and seconds of training; three trainings stopped at a third of theirs count as one."""

    trainings: float
    seconds: float | None = None


@dataclass(kw_only=True, slots=True)
class _Training:
    """A candidate that was begun; `asked` is None while no trial of this run stands for it."""

    asked: Asked | None = None
    rungs: tuple[RungScore, ...] = ()
    is_over: bool = False


@dataclass(kw_only=True, slots=True)
class _UnderWay:
    place: int
    asked: Asked
    step: RungStep


class GuidedRun:
    """One call's worth of trials: the guide says what to train next, the journal keeps every score."""

    def __init__(
        self,
        task: SearchTask,
        predict: Predictor,
        journal: Journal,
        screening: Screening,
        executor: TrialExecutor,
        budget: Budget,
        *,
        rungs: tuple[float, ...],
        progress: Callable[[SearchProgress], None] | None,
        prior: Callable[[Sequence[Candidate]], Prior | None] | None = None,
    ) -> None:
        self._task, self._predict, self._journal, self._executor = task, predict, journal, executor
        self._screening, self._budget, self._rungs, self._progress = screening, budget, rungs, progress
        self._entries = [entry for entry in screening.screened if entry.feasible]
        self._candidates = tuple(entry.candidate for entry in self._entries)
        self._places = {candidate.key: place for place, candidate in enumerate(self._candidates)}
        self._prior = prior
        pool = pool_of(task, self._entries, journal.result.reference)
        self._uncertain = tuple(task.section.objectives[m] for m in pool.uncertain)
        first = [self._places[candidate.key] for candidate in first_candidates(task, screening)]
        before = prior(self._candidates) if prior else None
        self._guide = Guide(pool, rungs, first=first, prior=before)
        # Every choice is given to it, so that nothing is left to draw.
        journal.study.sampler = RandomSampler(seed=0)
        self._begun: dict[int, _Training] = {}
        self._under_way: dict[int, _UnderWay] = {}
        self._scores = 0
        self._models = self._model_keys()
        self._known: dict[tuple[str, int], Trained] = {}

    def run(self) -> None:
        """Train until the budget or the screened candidates are used up."""
        try:
            self._recall()
            self._record_ruled_out()
            while self._start() or self._under_way:
                number, trained = self._executor.wait()
                self._take_in(self._under_way.pop(number), trained)
                self._take_wishes()
        finally:
            self._journal.close_running()

    def _recall(self) -> None:
        """Tell the guide every score of earlier runs, in the order in which they came."""
        self._grow(self._not_screened())
        told: list[tuple[int, int, int, Mapping[str, float], float]] = []
        for record in self._journal.result.trials:
            place = self._places.get(self._task.key_of(record.choices, record.model))
            if place is None or record.state == "infeasible":
                continue
            begun = self._begun.setdefault(place, _Training())
            begun.rungs, begun.is_over = record.rungs, record.state != "stopped"
            if record.state == "failed":
                self._guide.drop(place)
            elif not record.rungs:
                last = len(self._rungs) - 1
                told.append((-1, place, last, _metrics(record), record.train_seconds or 0.0))
            for rung in record.rungs:
                self._scores = max(self._scores, rung.order + 1)
                if (number := self._rung_of(rung.share)) is not None:
                    told.append((rung.order, place, number, _metrics(rung), rung.seconds))
        for _, place, rung_number, metrics, seconds in sorted(told, key=lambda one: one[:3]):
            self._guide.tell(place, rung_number, self._values(metrics), seconds)

    def _model_keys(self) -> tuple[str, ...]:
        """One model may be judged on several devices: it is trained once for all of them."""
        where = self._task.section.space.device or self._task.section.space.batch
        return tuple(candidate_key(one.model) if where else one.key for one in self._candidates)

    def _grow(self, more: Sequence[Screened]) -> None:
        """Let the guide choose among these candidates too."""
        if not more:
            return
        self._entries += more
        self._candidates = tuple(entry.candidate for entry in self._entries)
        self._places = {candidate.key: place for place, candidate in enumerate(self._candidates)}
        self._models = self._model_keys()
        pool = pool_of(self._task, self._entries, self._journal.result.reference)
        self._guide.grow(pool, self._prior(self._candidates) if self._prior else None)

    def _take_wishes(self) -> None:
        """Where the space was too large to be screened whole, take in what TPE would try."""
        if not self._screening.complete and self._scores % _WISHES_EVERY == 0:
            self._grow(sampler_wishes(self._task, self._predict, self._journal, self._places, _WISHES))

    def _not_screened(self) -> list[Screened]:
        """Candidates of earlier runs that the screening does not hand on: what TPE wished for then."""
        found: dict[str, Screened] = {}
        for record in self._journal.result.trials:
            candidate = self._task.candidate(record.choices)
            if record.state == "infeasible" or candidate.key in self._places:
                continue
            predicted = predict_choices(self._task, self._predict, candidate.choices, candidate.model)
            costs = predicted_costs(predicted, self._task.latency_device)
            if not infeasible_reason(costs, self._task.section.limits):
                found[candidate.key] = Screened(candidate=candidate, costs=costs, feasible=True)
        return list(found.values())

    def _rung_of(self, share: float) -> int | None:
        """The last rung that a training has passed at that share."""
        passed = [number for number, rung in enumerate(self._rungs) if rung <= share + 1e-9]
        return passed[-1] if passed else None

    def _record_ruled_out(self) -> None:
        """Keep a few of the candidates that are too dear: the ones that break the limits least."""
        journal, limits = self._journal, self._task.section.limits
        if any(record.state == "infeasible" for record in journal.result.trials):
            return
        too_dear = [entry for entry in self._screening.screened if not entry.feasible]
        too_dear.sort(key=lambda entry: max(violations(entry.costs, limits).values()))
        for entry in too_dear[:_MOST_RULED_OUT]:
            asked = self._asked(entry.candidate)
            self._finish(asked, infeasible_record(asked, infeasible_reason(entry.costs, limits)))

    def _start(self) -> bool:
        """Fill the executor's slots; whether anything was put into training."""
        has_started = False
        while len(self._under_way) < self._executor.slots:
            asked = self._guide.ask(
                [one.place for one in self._under_way.values()], left=self._left(), left_s=self._left_s()
            )
            if asked is None:
                break
            place, step = asked
            begun = self._begun.setdefault(place, _Training())
            begun.asked = begun.asked or self._asked(self._candidates[place])
            under_way = _UnderWay(place=place, asked=begun.asked, step=step)
            if known := self._known.get((self._models[place], step.rung)):
                self._take_in(under_way, replace(known, seconds=0.0))
                continue
            self._under_way[begun.asked.trial.number] = under_way
            has_rungs = len(self._rungs) > 1
            self._executor.submit(
                begun.asked.trial.number,
                begun.asked.candidate.model,
                self._task.training_seed,
                step if has_rungs else None,
            )
            has_started = True
        return has_started

    def _asked(self, candidate: Candidate) -> Asked:
        """A new trial of this candidate."""
        study = self._journal.study
        study.enqueue_trial(dict(candidate.choices))
        trial: Trial = study.ask()
        self._task.space.suggest(trial)
        predicted = predict_choices(self._task, self._predict, candidate.choices, candidate.model)
        costs = predicted_costs(predicted, self._task.latency_device)
        for name, excess in violations(costs, self._task.section.limits).items():
            trial.set_constraint(name, excess)
        return Asked(trial=trial, candidate=candidate, predicted=predicted)

    def _take_in(self, under_way: _UnderWay, trained: Trained | MeasurementError) -> None:
        begun, step = self._begun[under_way.place], under_way.step
        is_last = step.rung == len(self._rungs) - 1
        record = trained_record(under_way.asked, trained, begun.rungs, self._scores if is_last else None)
        if isinstance(trained, MeasurementError) or record.state == "failed":
            begun.is_over = True
            self._guide.drop(under_way.place)
            self._finish(under_way.asked, record)
            return
        self._known.setdefault((self._models[under_way.place], step.rung), trained)
        begun.rungs = (*begun.rungs, rung_score(trained, self._rungs[step.rung], self._scores))
        self._scores += 1
        self._guide.tell(under_way.place, step.rung, self._values(_metrics(trained)), trained.seconds)
        if is_last:
            begun.is_over = True
            self._finish(under_way.asked, record)
        else:
            record = stopped_record(under_way.asked, begun.rungs)
            self._journal.note(under_way.asked.trial, record)
            self._tell(record)

    def _finish(self, asked: Asked, record: TrialRecord) -> None:
        self._journal.finish(asked.trial, record)
        self._tell(record)

    def _tell(self, record: TrialRecord) -> None:
        if self._progress is not None:
            result, wanted = self._journal.result, int(self._budget.trainings)
            self._progress(SearchProgress.of(result, wanted, record, self._budget.trainings - self._left()))

    def _left(self) -> float:
        """Whole trainings' worth that may still be begun."""
        spent = sum(1.0 if one.is_over else one.rungs[-1].share if one.rungs else 0.0 for one in self._begun.values())
        under_way = sum(
            self._rungs[one.step.rung] - (0.0 if one.step.after is None else self._rungs[one.step.after])
            for one in self._under_way.values()
        )
        return self._budget.trainings - spent - under_way

    def _left_s(self) -> float | None:
        if self._budget.seconds is None:
            return None
        return self._budget.seconds - sum(rung.seconds for one in self._begun.values() for rung in one.rungs)

    def _values(self, metrics: Mapping[str, float]) -> list[float]:
        return objective_costs(metrics, self._uncertain)


def pool_of(task: SearchTask, entries: Sequence[Screened], reference: Mapping[str, float]) -> Pool:
    """Screened candidates as a guide takes them."""
    objectives = task.section.objectives
    costs_NM = np.array(
        [
            [np.nan if name in METRICS else objective_costs(entry.costs, [name])[0] for name in objectives]
            for entry in entries
        ]
    )
    return Pool(
        features_NX=described(task.space, [entry.candidate for entry in entries]),
        costs_NM=costs_NM,
        reference_M=np.array(objective_costs(reference, objectives)),
        ideal_M=np.array(ideal_costs(objectives)),
    )


def _metrics(scored: Trained | RungScore | TrialRecord) -> dict[str, float]:
    return {name: float(getattr(scored, name)) for name in METRICS}
