"""A look at the space with the cost model alone, before anything is trained."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from planner.search.candidate import Candidate
from planner.search.contradictions import nothing_fits
from planner.search.evaluation import Predictor
from planner.search.front_screening import FrontScreening, ScreenedFront, screen_front
from planner.search.objective import infeasible_reason, violations
from planner.search.pricing import ColumnPricer, PricesColumns, costs_of_all
from planner.search.screened_counts import ScreenedCounts
from planner.search.space import corner_choices, enumerate_choices, space_size
from planner.search.task import SearchTask
from planner.study import OBJECTIVES
from profiles.errors import InfeasibleError, InputError

__all__ = ["MOST_SCREENED", "Screened", "Screening", "screen"]

# Up to so many candidates are predicted one by one, and at most so many handed on.
MOST_SCREENED = 512


@dataclass(frozen=True, kw_only=True, slots=True)
class Screened:
    """A candidate and what it is predicted to cost."""

    candidate: Candidate
    costs: Mapping[str, float]
    feasible: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Screening:
    """Distinct candidates of the space; all of them where `complete`, else the best that were found and the extremes.

    `counts` are of all that were priced. `front` says how they were found where there were too many to hand on all.
    """

    screened: tuple[Screened, ...]
    complete: bool
    counts: ScreenedCounts
    front: ScreenedFront | None = field(default=None, compare=False, repr=False)

    @property
    def feasible(self) -> tuple[Candidate, ...]:
        """The candidates that are predicted to meet the constraints."""
        return tuple(entry.candidate for entry in self.screened if entry.feasible)

    @property
    def dearest(self) -> dict[str, float]:
        """The worst predicted value of each cost: the highest, or the least above 0 of one that should be high."""
        if self.front is not None:
            return dict(self.front.dearest)
        found = {}
        for name in self.screened[0].costs:
            values = [entry.costs[name] for entry in self.screened]
            found[name] = min(filter(None, values), default=1.0) if OBJECTIVES.get(name) else max(values)
        return found


def screen(
    task: SearchTask, predict: Predictor, most: int = MOST_SCREENED, *, front: FrontScreening | None = None
) -> Screening:
    """Predict every candidate of the space, or look for those worth training where there are more than `most`.

    A predictor that prices by column looks at 100,000 and more (as `front` says), by evolution where the space is
    larger still; of another one's, `most` are drawn at random, with the corners of the space.

    Raises:
        InfeasibleError: none meets the constraints.
        InputError: a space that is not flat, and a predictor that does not price by column.
    """
    is_small = task.section.space.is_flat and space_size(task.section.space) <= most
    if not is_small and isinstance(predict, PricesColumns):
        wanted = front or FrontScreening(
            objectives=task.section.objectives, limits=task.section.limits, keep=most, seed=task.seed
        )
        screening = _by_column(task, predict.by_column, wanted)
    elif task.section.space.is_flat:
        screening = _one_by_one(task, predict, most)
    else:
        raise InputError("search.space: groups and choices of the whole model need costs by column")
    if isinstance(predict, PricesColumns) and predict.memory_bytes is not None and not task.section.space.device:
        _require_room(screening, task.latency_device, predict.memory_bytes)
    return screening


def _require_room(screening: Screening, device: str, memory_bytes: int) -> None:
    """Refuse a space of which nothing fits the device that latency is judged on."""
    if screening.front is not None:
        least = screening.front.cheapest["parameter_bytes"]
    else:
        least = min(entry.costs["parameter_bytes"] for entry in screening.screened)
    if least > memory_bytes:
        raise InfeasibleError(
            f"devices: nothing of the search space fits {device!r}: the smallest candidate takes {least:,.0f} bytes, "
            f"{least - memory_bytes:,.0f} more than the {memory_bytes:,} of its memory"
        )


def _one_by_one(task: SearchTask, predict: Predictor, most: int) -> Screening:
    space, limits = task.section.space, task.section.limits
    complete = space_size(space) <= most
    choices = enumerate_choices(space, most, task.seed)
    extremes = () if complete else tuple(corner_choices(space))
    candidates: dict[str, Candidate] = {}
    for candidate in map(task.candidate, (*choices, *extremes)):
        candidates.setdefault(candidate.key, candidate)
    found = tuple(candidates.values())
    screened = tuple(
        Screened(candidate=candidate, costs=costs, feasible=not infeasible_reason(costs, limits))
        for candidate, costs in zip(found, costs_of_all(task, predict, found), strict=True)
    )
    if not any(entry.feasible for entry in screened):
        columns = {name: np.array([entry.costs[name] for entry in screened]) for name in screened[0].costs}
        which = f"none of {_whose(complete=complete)}{len(screened)} candidates"
        raise InfeasibleError(nothing_fits(columns, limits, which, lambda place: screened[place].candidate.model.name))
    excess = [violations(entry.costs, limits) for entry in screened]
    counts = ScreenedCounts(
        priced=len(screened),
        feasible=sum(entry.feasible for entry in screened),
        broken={name: sum(one[name] > 0 for one in excess) for name in limits},
        complete=complete,
    )
    return Screening(screened=screened, complete=complete, counts=counts)


def _by_column(task: SearchTask, price: ColumnPricer, wanted: FrontScreening) -> Screening:
    """The candidates that are worth training, the front first, each model once."""
    front = screen_front(task.space, price, wanted)
    candidates: dict[str, Screened] = {}
    for place in range(len(front)):
        candidate = task.candidate(front.choices(place))
        entry = Screened(candidate=candidate, costs=front.costs_of(place), feasible=True)
        candidates.setdefault(candidate.key, entry)
    for place in range(len(front.ruled_out)):
        candidate = task.candidate(task.space.choices(front.ruled_out.codes_NG[place]))
        costs = {name: float(values[place]) for name, values in front.ruled_out_costs.items()}
        candidates.setdefault(candidate.key, Screened(candidate=candidate, costs=costs, feasible=False))
    complete = front.complete and front.feasible <= wanted.keep
    counts = ScreenedCounts(
        priced=front.screened, feasible=front.feasible, broken=front.broken, complete=front.complete
    )
    return Screening(screened=tuple(candidates.values()), complete=complete, counts=counts, front=front)


def _whose(*, complete: bool) -> str:
    return "the space's " if complete else ""
