"""Searches replayed on a table of finished trainings, or run for real, under one budget of seconds.

Time is what the trainings took and all that the search itself takes, screening included. A method's result at a moment
is the front of its whole trainings by validation, and what it is worth is that front's hypervolume on test rows.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner.search.candidate import candidate_key
from planner.search.evaluation import Predicted, Predictor, RungStep, RungTrainer, Trained
from planner.search.hypervolume import normalised_hypervolume
from planner.search.objective import METRICS, objective_costs, predicted_costs
from planner.search.pareto import non_dominated
from planner.search.task import SearchTask
from representations.specs import ModelSpec
from tests.benchmarks.search_table import SearchTable

__all__ = [
    "BudgetSpent",
    "Curve",
    "Event",
    "Ledger",
    "TableTrainer",
    "curve_of",
    "front_keys",
    "run_method",
    "share_to",
]

Method = Callable[[SearchTask, Predictor, RungTrainer, int], None]


class BudgetSpent(Exception):  # noqa: N818
    """Raised by a trainer once no time is left, so that any method ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """A whole training that ended: when, of what, and its objectives on validation and on test rows."""

    elapsed_s: float
    key: str
    validation: Mapping[str, float]
    test: Mapping[str, float]


@dataclass(kw_only=True, slots=True)
class Ledger:
    """What is spent of a budget: trainings, and the time between them."""

    budget_s: float
    is_replay: bool
    events: list[Event] = field(default_factory=list)
    trained_s: float = 0.0
    steps: int = 0
    clock: Callable[[], float] = time.perf_counter
    began_s: float = field(init=False)
    ended_s: float | None = None

    def __post_init__(self) -> None:
        self.began_s = self.clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the beginning; a replay's trainings take those that they once took."""
        waited_s = (self.clock() if self.ended_s is None else self.ended_s) - self.began_s
        return waited_s + self.trained_s if self.is_replay else waited_s


@dataclass(frozen=True, kw_only=True, slots=True)
class TableTrainer:
    """Looks trainings up; one table knows one seed."""

    table: SearchTable

    @property
    def rungs(self) -> tuple[float, ...]:
        """Those of the table."""
        return tuple(rung.share for rung in next(iter(self.table.trainings.values())).rungs)

    def __call__(self, spec: ModelSpec, seed: int, /) -> Trained:
        """The whole training."""
        return self.train_rung(spec, seed, RungStep(rung=len(self.rungs) - 1))

    def train_rung(self, spec: ModelSpec, seed: int, step: RungStep, /) -> Trained:
        """From one rung to another, at the difference of their seconds."""
        del seed
        training = self.table.trainings[candidate_key(spec)]
        rung = training.rungs[step.rung]
        before_s = 0.0 if step.after is None else training.rungs[step.after].seconds
        is_whole = step.rung == len(training.rungs) - 1
        test = {name: getattr(training.test, name) for name in METRICS} if is_whole else {}
        metrics = {name: getattr(rung.validation, name) for name in METRICS}
        return Trained(**metrics, seconds=rung.seconds - before_s, test=test)


@dataclass(kw_only=True, slots=True)
class _Budgeted:
    """Another trainer, with a ledger."""

    train: RungTrainer
    ledger: Ledger
    task: SearchTask
    predict: Predictor

    @property
    def rungs(self) -> tuple[float, ...]:
        return self.train.rungs

    def __call__(self, spec: ModelSpec, seed: int, /) -> Trained:
        return self.train_rung(spec, seed, RungStep(rung=len(self.rungs) - 1))

    def train_rung(self, spec: ModelSpec, seed: int, step: RungStep, /) -> Trained:
        ledger = self.ledger
        if ledger.elapsed_s >= ledger.budget_s:
            raise BudgetSpent
        trained = self.train.train_rung(spec, seed, step)
        ledger.trained_s += trained.seconds
        ledger.steps += 1
        if ledger.elapsed_s > ledger.budget_s:
            raise BudgetSpent
        if step.rung == len(self.rungs) - 1:
            costs = predicted_costs(self.predict(spec), self.task.latency_device)
            validation = {**costs, **{name: getattr(trained, name) for name in METRICS}}
            test = {**costs, **trained.test}
            ledger.events.append(
                Event(elapsed_s=ledger.elapsed_s, key=candidate_key(spec), validation=validation, test=test)
            )
        return trained


@dataclass(slots=True)
class _Priced:
    """A predictor that prices a candidate once: each method pays for what it looks at, but not twice."""

    predict: Predictor
    known: dict[str, Predicted] = field(default_factory=dict)

    def __call__(self, spec: ModelSpec, /) -> Predicted:
        key = candidate_key(spec)
        if key not in self.known:
            self.known[key] = self.predict(spec)
        return self.known[key]


def run_method(
    method: Method,
    task: SearchTask,
    predict: Predictor,
    train: RungTrainer,
    budget_s: float,
    seed: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Ledger:
    """The method's ledger when the budget is spent, or the method has nothing left to do."""
    ledger = Ledger(budget_s=budget_s, is_replay=isinstance(train, TableTrainer), clock=clock)
    priced = _Priced(predict)
    with suppress(BudgetSpent):
        method(task, priced, _Budgeted(train=train, ledger=ledger, task=task, predict=priced), seed)
    ledger.ended_s = ledger.clock()
    return ledger


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Curve:
    """Hypervolume over time, constant between its points."""

    time_s: NDArray[np.float64]
    volume: NDArray[np.float64]

    @property
    def final(self) -> float:
        """What the budget bought."""
        return float(self.volume[-1])

    def at(self, time_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The hypervolume at each time."""
        return self.volume[np.searchsorted(self.time_s, time_s, side="right") - 1]


def curve_of(events: Sequence[Event], reference: Mapping[str, float]) -> Curve:
    """After each whole training the test hypervolume of the front that validation rows choose."""
    times, volumes = [0.0], [0.0]
    for count in range(1, len(events) + 1):
        keys = set(front_keys({one.key: one.validation for one in events[:count]}, tuple(reference)))
        chosen = {one.key: one.test for one in events[:count] if one.key in keys}
        times.append(events[count - 1].elapsed_s)
        points = [{name: values[name] for name in reference} for values in chosen.values()]
        volumes.append(normalised_hypervolume(points, reference))
    return Curve(time_s=np.array(times), volume=np.array(volumes))


def front_keys(values: Mapping[str, Mapping[str, float]], objectives: Sequence[str]) -> tuple[str, ...]:
    """The keys of those that no other beats."""
    costs = np.array([objective_costs(one, objectives) for one in values.values()]).reshape(-1, len(objectives))
    return tuple(key for key, keep in zip(values, non_dominated(costs), strict=True) if keep)


def share_to(ours: Sequence[Curve], goal: float, budget_s: float) -> float | None:
    """The share of the budget after which the mean of our curves is at the goal and stays; None where it is not."""
    grid_s = np.linspace(0, budget_s, 2001)
    mean = np.mean([curve.at(grid_s) for curve in ours], axis=0)
    below = np.flatnonzero(mean < goal)
    if not len(below):
        return 0.0
    return None if below[-1] == len(grid_s) - 1 else float(grid_s[below[-1] + 1] / budget_s)
