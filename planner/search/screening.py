"""A look at the whole space with the cost model alone, before anything is trained."""

from collections.abc import Mapping
from dataclasses import dataclass

from planner.search.candidate import Candidate
from planner.search.evaluation import Predictor
from planner.search.objective import format_cost, infeasible_reason, predicted_costs, violations
from planner.search.space import corner_choices, enumerate_choices, space_size
from planner.search.task import SearchTask
from profiles.errors import InfeasibleError

__all__ = ["Screened", "Screening", "screen"]

MOST_SCREENED = 512


@dataclass(frozen=True, kw_only=True, slots=True)
class Screened:
    """A candidate and what it is predicted to cost."""

    candidate: Candidate
    costs: Mapping[str, float]
    feasible: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Screening:
    """Distinct candidates of the space; all of them where `complete`, else a sample with the extremes in it."""

    screened: tuple[Screened, ...]
    complete: bool

    @property
    def feasible(self) -> tuple[Candidate, ...]:
        """The candidates that are predicted to meet the constraints."""
        return tuple(entry.candidate for entry in self.screened if entry.feasible)

    @property
    def dearest(self) -> dict[str, float]:
        """The highest predicted value of each cost."""
        names = self.screened[0].costs
        return {name: max(entry.costs[name] for entry in self.screened) for name in names}


def screen(task: SearchTask, predict: Predictor, most: int = MOST_SCREENED) -> Screening:
    """Predict every candidate of the space, or `most` of them drawn at random and the corners of the space.

    Raises:
        InfeasibleError: none meets the constraints.
    """
    space = task.section.space
    complete = space_size(space) <= most
    choices = enumerate_choices(space, most, task.seed)
    extremes = () if complete else tuple(corner_choices(space))
    candidates: dict[str, Candidate] = {}
    for candidate in map(task.candidate, (*choices, *extremes)):
        candidates.setdefault(candidate.key, candidate)
    screened = tuple(_screened(candidate, task, predict) for candidate in candidates.values())
    if not any(entry.feasible for entry in screened):
        raise InfeasibleError(_nothing_fits(screened, task.section.limits, complete=complete))
    return Screening(screened=screened, complete=complete)


def _screened(candidate: Candidate, task: SearchTask, predict: Predictor) -> Screened:
    costs = predicted_costs(predict(candidate.model), task.latency_device)
    return Screened(candidate=candidate, costs=costs, feasible=not infeasible_reason(costs, task.section.limits))


def _nothing_fits(screened: tuple[Screened, ...], limits: Mapping[str, float], *, complete: bool) -> str:
    nearest = min(screened, key=lambda entry: max(violations(entry.costs, limits).values()))
    misses = ", ".join(
        f"{name} {format_cost(nearest.costs[name])} is {excess:.0%} above {format_cost(limits[name])}"
        for name, excess in violations(nearest.costs, limits).items()
        if excess > 0
    )
    least = ", ".join(f"{name} {format_cost(min(entry.costs[name] for entry in screened))}" for name in limits)
    which = f"none of the space's {len(screened)} candidates" if complete else f"none of {len(screened)} candidates"
    return (
        f"search.constraints: {which} meets them; nearest is {nearest.candidate.model.name}: {misses} (least: {least})"
    )
