"""What a search is without a cost model's help: random draws, and plain Optuna over the same choices.

A candidate that the constraints rule out is told at no cost, and none is trained twice: its values are looked up.
"""

import random
from collections.abc import Callable

import optuna
from optuna.samplers import BaseSampler, NSGAIISampler, TPESampler

from planner.search.evaluation import Predictor, Trainer
from planner.search.objective import directions, infeasible_reason, predicted_costs, violations
from planner.search.space import Choices, enumerate_choices, suggest
from planner.search.task import SearchTask
from representations.specs import ModelSpec

__all__ = ["SAMPLERS", "optuna_search", "random_search"]

SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "tpe": lambda seed: TPESampler(seed=seed),
    "nsga2": lambda seed: NSGAIISampler(seed=seed),
}
# Of a candidate that was ruled out: chance. What it costs says how far it is from being allowed.
_UNTRAINED = {"auc": 0.5, "accuracy": 0.5, "log_loss": 1.0}


def random_search(task: SearchTask, predict: Predictor, train: Trainer, seed: int) -> None:
    """Train the space's candidates in a random order; those that break a constraint are passed over."""
    choices = list(enumerate_choices(task.section.space))
    random.Random(seed).shuffle(choices)
    seen = set()
    for one in choices:
        candidate = task.candidate(one)
        costs = predicted_costs(predict(candidate.model), task.latency_device)
        if candidate.key not in seen and not infeasible_reason(costs, task.section.limits):
            train(candidate.model, task.training_seed)
        seen.add(candidate.key)


def optuna_search(sampler: str, task: SearchTask, predict: Predictor, train: Trainer, seed: int, trials: int) -> None:
    """So many trials of an in-memory study with one of Optuna's samplers, its constraints told."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    objectives = task.section.objectives
    study = optuna.create_study(directions=directions(objectives), sampler=SAMPLERS[sampler](seed))
    known: dict[str, dict[str, float]] = {}
    for _ in range(trials):
        trial = study.ask()
        choices: Choices = suggest(trial, task.section.space)
        candidate = task.candidate(choices)
        costs = predicted_costs(predict(candidate.model), task.latency_device)
        limits = task.section.limits
        for name, excess in violations(costs, limits).items():
            trial.set_constraint(name, excess)
        if candidate.key not in known:
            is_allowed = not infeasible_reason(costs, limits)
            known[candidate.key] = _scores(candidate.model, train, task.training_seed) if is_allowed else _UNTRAINED
        values = {**costs, **known[candidate.key]}
        study.tell(trial, [values[name] for name in objectives])


def _scores(model: ModelSpec, train: Trainer, seed: int) -> dict[str, float]:
    trained = train(model, seed)
    return {"auc": trained.auc, "accuracy": trained.accuracy, "log_loss": trained.log_loss}
