"""What a search leaves: a record of every finished trial, and the result drawn from them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from planner.search.hypervolume import normalised_hypervolume
from planner.search.objective import METRICS, objective_costs
from planner.search.pareto import non_dominated
from planner.search.screened_counts import ScreenedCounts
from planner.search.space import Choices
from profiles.errors import InputError
from representations.specs import ModelSpec, model_from_object

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Repeat", "RungScore", "SearchResult", "TrialRecord", "TrialState"]

TrialState = Literal["complete", "stopped", "infeasible", "failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RungScore:
    """What a training had reached after `share` of it: validation metrics, and the seconds since the rung before.

    `order` counts the scores of the search, in the order in which they came in.
    """

    share: float
    order: int
    accuracy: float
    auc: float
    log_loss: float
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeat:
    """A trial's candidate trained once more, from another seed."""

    seed: int
    accuracy: float
    auc: float
    log_loss: float
    seconds: float
    test: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRecord:
    """One finished trial; what only training tells is None where it did not happen or failed.

    `latency_ms` is predicted, by device name; `reason` says what made a trial infeasible or fail. `accuracy`, `auc` and
    `log_loss` are of the validation rows, `test` holds the same of rows that no choice looks at. `rungs` are the scores
    on the way, where the training was judged there; a trial that was stopped has those alone. `costs` are the predicted
    ones where there are more, or where the trial chose its device and batch.
    """

    number: int
    state: TrialState
    choices: Choices
    model: ModelSpec
    latency_ms: Mapping[str, float]
    parameter_bytes: int
    flops: float
    feasible: bool
    reason: str = ""
    accuracy: float | None = None
    auc: float | None = None
    log_loss: float | None = None
    train_seconds: float | None = None
    test: Mapping[str, float] = field(default_factory=dict)
    rungs: tuple[RungScore, ...] = ()
    costs: Mapping[str, float] = field(default_factory=dict)

    def value(self, name: str, device: str) -> float:
        """An objective's value; `latency_ms` on `device`, unless the trial chose its own.

        Raises:
            InputError: the trial was not trained, so it has none.
        """
        if name in self.costs:
            return float(self.costs[name])
        value = self.latency_ms[device] if name == "latency_ms" else getattr(self, name)
        if value is None:
            raise InputError(f"trial {self.number}: has no {name}, since it is {self.state}")
        return float(value)

    def to_object(self) -> dict[str, Any]:
        """A JSON-ready object that `from_object` reads back."""
        body = {part.name: getattr(self, part.name) for part in fields(self)}
        return {
            **body,
            "choices": dict(self.choices),
            "model": self.model.to_object(),
            "latency_ms": dict(self.latency_ms),
            "test": dict(self.test),
            "rungs": [asdict(rung) for rung in self.rungs],
            "costs": dict(self.costs),
        }

    @classmethod
    def from_object(cls, body: Mapping[str, Any]) -> "TrialRecord":
        """The record that `to_object` wrote."""
        try:
            rungs = tuple(RungScore(**rung) for rung in body.get("rungs", ()))
            return cls(**{**body, "model": model_from_object(body["model"]), "rungs": rungs})
        except (KeyError, TypeError) as error:
            raise InputError(f"trial record: {error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResult:
    """All finished trials of a search and what follows from them.

    `reference` is the hypervolume's reference point by objective (empty when nothing was screened). `repeats` are the
    further trainings of finalists, by the number of the trial. `screened` is what was found before any training; None
    where nothing was.
    """

    objectives: tuple[str, ...]
    latency_device: str
    trials: tuple[TrialRecord, ...]
    reference: Mapping[str, float] = field(default_factory=dict)
    repeats: Mapping[int, tuple[Repeat, ...]] = field(default_factory=dict)
    screened: ScreenedCounts | None = None

    @property
    def feasible(self) -> tuple[TrialRecord, ...]:
        """The trials that met the constraints and trained, in the order of their numbers."""
        return tuple(trial for trial in self.trials if trial.state == "complete")

    @property
    def pareto(self) -> tuple[TrialRecord, ...]:
        """The feasible trials that no other one beats in all objectives, best first by the first objective."""
        feasible = self.feasible
        costs = {trial.number: objective_costs(self.values(trial), self.objectives) for trial in feasible}
        table = np.array(list(costs.values())).reshape(len(feasible), len(self.objectives))
        front = [trial for trial, keep in zip(feasible, non_dominated(table), strict=True) if keep]
        return tuple(sorted(front, key=lambda trial: (costs[trial.number], trial.number)))

    @property
    def best(self) -> TrialRecord | None:
        """The best feasible trial by the first objective, then the next ones."""
        return next(iter(self.pareto), None)

    @property
    def hypervolume(self) -> float:
        """The share of what the objectives leave open that the Pareto set covers: 0 to 1."""
        return normalised_hypervolume([self.values(trial) for trial in self.pareto], self.reference)

    def values(self, trial: TrialRecord) -> dict[str, float]:
        """The objectives' values of a trained trial."""
        return {name: trial.value(name, self.latency_device) for name in self.objectives}

    def count(self, state: TrialState) -> int:
        """How many trials ended so."""
        return sum(trial.state == state for trial in self.trials)

    def to_object(self) -> dict[str, Any]:
        """The keys that `recplan search --json` prints."""
        return {
            "trials": len(self.trials),
            "feasible": self.count("complete"),
            "infeasible": self.count("infeasible"),
            "failed": self.count("failed"),
            "stopped": self.count("stopped"),
            "objectives": list(self.objectives),
            "latency_device": self.latency_device,
            "pareto": [self._point(trial) for trial in self.pareto],
            "hypervolume": self.hypervolume,
            "hypervolume_reference": dict(self.reference),
            "screened": asdict(self.screened) if self.screened else None,
        }

    def frame(self) -> "pl.DataFrame":
        """A row per trial: choices as columns (null where they do not matter), values, and the model as JSON."""
        from planner.search.frames import trials_frame

        return trials_frame(self)

    def _point(self, trial: TrialRecord) -> dict[str, Any]:
        return {
            "number": trial.number,
            "name": trial.model.name,
            "representation": trial.choices.get("representation", trial.model.representation),
            **{metric: getattr(trial, metric) for metric in METRICS},
            **{f"test_{metric}": value for metric, value in trial.test.items()},
            "latency_ms": trial.latency_ms[self.latency_device],
            "latency_ms_by_device": dict(trial.latency_ms),
            "parameter_bytes": trial.parameter_bytes,
            "flops": trial.flops,
            **trial.costs,
            "choices": dict(trial.choices),
        }
