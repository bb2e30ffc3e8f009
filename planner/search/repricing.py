"""Costs predicted anew: a search that resumes after another sweep must not mix two cost models."""

from dataclasses import replace

from planner.search.evaluation import Predictor
from planner.search.objective import infeasible_reason, predicted_costs
from planner.search.pricing import predict_choices
from planner.search.records import SearchResult, TrialRecord
from planner.search.task import SearchTask

__all__ = ["repriced"]


def repriced(result: SearchResult, task: SearchTask, predict: Predictor) -> SearchResult:
    """The result with every trial's costs as `predict` gives them now.

    A trained trial that now breaks a constraint becomes infeasible, with the reason; one that was never trained stays
    so.
    """
    return replace(result, trials=tuple(_repriced(trial, task, predict) for trial in result.trials))


def _repriced(trial: TrialRecord, task: SearchTask, predict: Predictor) -> TrialRecord:
    predicted = predict_choices(task, predict, trial.choices, trial.model)
    costs = predicted_costs(predicted, task.latency_device)
    now = replace(
        trial,
        latency_ms=predicted.latency_ms,
        parameter_bytes=int(predicted.parameter_bytes),
        flops=float(predicted.flops),
        costs=dict(predicted.costs),
    )
    reason = infeasible_reason(costs, task.section.limits)
    if trial.state == "complete" and reason:
        return replace(now, state="infeasible", feasible=False, reason=f"{reason} since the devices were measured anew")
    return now
