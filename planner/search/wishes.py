"""What Optuna's TPE would try next in a space that was too large to be screened whole."""

from collections.abc import Collection

import optuna
from optuna.samplers import TPESampler
from optuna.trial import TrialState

from planner.search.evaluation import Predictor
from planner.search.journal import Journal
from planner.search.objective import directions, infeasible_reason, predicted_costs
from planner.search.pricing import predict_choices
from planner.search.screening import Screened
from planner.search.task import SearchTask

__all__ = ["sampler_wishes"]

_LEVEL = optuna.logging.WARNING


def sampler_wishes(
    task: SearchTask, predict: Predictor, journal: Journal, taken: Collection[str], count: int
) -> tuple[Screened, ...]:
    """Up to `count` candidates that are new and within the limits, as TPE draws them from the trials that ended.

    They are drawn in a study of their own, so that the search's journal holds only what was trained.
    """
    ended = journal.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(_LEVEL)
    try:
        mirror = optuna.create_study(
            directions=directions(task.section.objectives), sampler=TPESampler(seed=task.sampling_seed(len(ended)))
        )
        mirror.add_trials(ended)
        found: dict[str, Screened] = {}
        for _ in range(count):
            candidate = task.candidate(task.space.suggest(mirror.ask()))
            predicted = predict_choices(task, predict, candidate.choices, candidate.model)
            costs = predicted_costs(predicted, task.latency_device)
            if candidate.key not in taken and not infeasible_reason(costs, task.section.limits):
                found[candidate.key] = Screened(candidate=candidate, costs=costs, feasible=True)
    finally:
        optuna.logging.set_verbosity(before)
    return tuple(found.values())
