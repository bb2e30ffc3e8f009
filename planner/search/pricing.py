"""What screening asks of others: the costs of candidates by column."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from planner.search.accuracy_model import Floats
from planner.search.candidate import Candidate
from planner.search.evaluation import Predicted, Predictor
from planner.search.factors import Choices
from planner.search.objective import METRICS, predicted_costs
from planner.search.space_columns import SpaceColumns, SpaceModels
from planner.search.task import SearchTask
from representations.specs import ModelSpec

__all__ = ["ColumnPricer", "PricesColumns", "costs_of_all", "predict_choices"]

_BASIC = frozenset({"latency_ms", "parameter_bytes", "flops", *METRICS})


class ColumnPricer(Protocol):
    """Called with thousands of candidates at a time, so it should take microseconds for each."""

    def __call__(self, columns: SpaceColumns, /) -> Mapping[str, Floats]:
        """The predicted costs by name, each of shape [N]: at least those that are objectives or constrained."""
        ...


@runtime_checkable
class PricesColumns(Protocol):
    """A `Predictor` that can also price candidates by column, as spaces need that are not flat or large."""

    @property
    def by_column(self) -> ColumnPricer:
        """The pricer, which keeps what it has priced."""
        ...

    @property
    def memory_bytes(self) -> int | None:
        """What the device holds on which latency is judged; None where that is unknown."""
        ...


def predict_choices(task: SearchTask, predict: Predictor, choices: Choices, model: ModelSpec) -> Predicted:
    """What a candidate is predicted to cost, by column where the task asks for more than every predictor gives.

    Raises:
        InputError: choices that the space does not offer.
    """
    predicted = predict(model)
    if not isinstance(predict, PricesColumns) or not _needs_columns(task):
        return predicted
    columns = SpaceModels(space=task.space).columns(task.space.code(choices)[None, :])
    costs = {name: float(values[0]) for name, values in predict.by_column(columns).items()}
    return replace(predicted, costs=costs)


def costs_of_all(task: SearchTask, predict: Predictor, candidates: Sequence[Candidate]) -> list[Mapping[str, float]]:
    """The costs by name of some hundred candidates: those of `predict_choices`, for all of them at once."""
    if not isinstance(predict, PricesColumns) or not _needs_columns(task):
        return [predicted_costs(predict(candidate.model), task.latency_device) for candidate in candidates]
    codes_NG = np.stack([task.space.code(candidate.choices) for candidate in candidates])
    costs = predict.by_column(SpaceModels(space=task.space).columns(codes_NG))
    return [{name: float(values[place]) for name, values in costs.items()} for place in range(len(candidates))]


def _needs_columns(task: SearchTask) -> bool:
    return not (task.section.space.is_flat and {*task.section.objectives, *task.section.limits} <= _BASIC)
