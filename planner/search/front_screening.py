"""A look at 100,000 candidates and more before anything is trained, by what they cost and what is thought of them.

Array suffixes: N candidates, G factors, M costs, K kept ones.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner.search.accuracy_model import AccuracyModel, Floats
from planner.search.capacity_prior import CapacityPrior
from planner.search.contradictions import nothing_fits
from planner.search.dominance import front_of
from planner.search.evolution import Evolution, Judged, evolve
from planner.search.factors import Choice, Places
from planner.search.objective import METRICS, objective_costs, violations
from planner.search.pricing import ColumnPricer
from planner.search.search_space import SearchSpace
from planner.search.space_candidate import space_candidate
from planner.search.space_columns import SpaceColumns, SpaceModels
from planner.search.space_features import SpaceFeatures
from planner.search.spread import spread_out
from planner.study import OBJECTIVES
from profiles.errors import InfeasibleError, InputError

__all__ = ["FrontScreening", "ScreenedFront", "screen_front"]

Describe = Callable[[SpaceColumns], Floats]
_CHUNK = 16_384
# Farthest points are looked for among so many.
_MOST_SPREAD = 2048
# Of those that break a limit so many are handed on, to be told with their costs.
_MOST_RULED_OUT = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class FrontScreening:
    """What is screened for.

    `limits` are upper ones, of what should be high lower ones. `most` candidates are priced, all where the space has no
    more; at most `keep` are handed on: those that no other beats, a spread of them where they are too many, and others
    that hold the limits, as far from all of these as can be, so that half of `keep` is never left empty.
    """

    objectives: tuple[str, ...]
    limits: Mapping[str, float] = field(default_factory=dict)
    most: int = 100_000
    keep: int = 512
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.objectives:
            raise InputError("screening: needs at least one objective")
        if min(self.most, self.keep) < 1:
            raise InputError(f"screening: most and keep must be >= 1, but got {self.most}, {self.keep}")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ScreenedFront:
    """The candidates that are worth training, the front first, with their predicted costs by name.

    `quality_K` and `quality_std_K` are what the accuracy model predicts, less being better; None where there was none.
    `screened` different candidates were priced, all of the space where `complete`; `feasible` hold all limits, `broken`
    tells how many break each, and `ruled_out` are the few that break them least. `dearest` and `cheapest` are the worst
    and the best of each cost among all that were priced.
    """

    space: SearchSpace
    columns: SpaceColumns
    ruled_out: SpaceColumns
    costs: Mapping[str, Floats]
    ruled_out_costs: Mapping[str, Floats]
    is_front_K: NDArray[np.bool_]
    quality_K: Floats | None
    quality_std_K: Floats | None
    screened: int
    feasible: int
    broken: Mapping[str, int]
    dearest: Mapping[str, float]
    cheapest: Mapping[str, float]
    complete: bool
    seconds: float

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def screened_per_s(self) -> float:
        """Candidates a second, all that was done included."""
        return self.screened / self.seconds if self.seconds > 0 else float("inf")

    def choices(self, place: int) -> dict[str, Choice]:
        """The choices of one of the candidates."""
        return self.space.choices(self.columns.codes_NG[place])

    def costs_of(self, place: int) -> dict[str, float]:
        """The predicted costs of one of the candidates."""
        return {name: float(values[place]) for name, values in self.costs.items()}


def screen_front(
    space: SearchSpace,
    price: ColumnPricer,
    task: FrontScreening,
    *,
    accuracy: AccuracyModel | None = None,
    describe: Describe | None = None,
    first_NG: Places | None = None,
) -> ScreenedFront:
    """Price the space, or as much of it as `task.most` allows, and keep what is worth training.

    Measures of quality are taken from `accuracy`, given what `describe` says of candidates, at their means less one
    standard deviation, so that what may be good stays; without one from a prior that only knows capacity. A space
    that is too large to be priced whole is searched by evolution, from random candidates, its extremes and `first_NG`.

    Raises:
        InfeasibleError: no candidate holds the limits; says which contradict each other, and how near the nearest is.
        InputError: an objective that is neither priced nor of quality, or only one of `accuracy` and `describe`.
    """
    if (accuracy is None) is not (describe is None):
        raise InputError("screening: give both accuracy and describe, or neither")
    start = time.perf_counter()
    judge = _Judge(SpaceModels(space=space), price, task, accuracy, describe)
    complete = space.size <= task.most
    if complete:
        judged = judge(space.all_codes())
    else:
        rng = np.random.default_rng(task.seed)
        judged = evolve(space, judge, _first(space, task.most, first_NG, rng), Evolution(most=task.most), rng)
    holds = np.flatnonzero(judged.excess_N <= 0)
    if not len(holds):
        raise InfeasibleError(_nothing_fits(space, judge, judged, complete=complete))
    front = holds[front_of(judged.costs_NM[holds])]
    kept, is_front_K = _kept(judge, judged, holds, front)
    columns = judge.models.columns(judged.codes_NG[kept])
    ruled_out = judge.models.columns(judged.codes_NG[_nearest_misses(judged.excess_N)])
    quality = judge.quality(columns)
    return ScreenedFront(
        space=space,
        columns=columns,
        ruled_out=ruled_out,
        costs=judge.costs(columns),
        ruled_out_costs=judge.costs(ruled_out),
        is_front_K=is_front_K,
        quality_K=None if quality is None else quality[0],
        quality_std_K=None if quality is None else quality[1],
        screened=len(judged),
        feasible=len(holds),
        broken=judge.broken,
        dearest=judge.dearest,
        cheapest=judge.cheapest,
        complete=complete,
        seconds=time.perf_counter() - start,
    )


class _Judge:
    """Prices candidates in chunks that stay in the caches, and keeps count of what it saw."""

    def __init__(
        self,
        models: SpaceModels,
        price: ColumnPricer,
        task: FrontScreening,
        accuracy: AccuracyModel | None,
        describe: Describe | None,
    ) -> None:
        self.models, self._price, self.task = models, price, task
        self._accuracy, self._describe = accuracy, describe
        self._features, self._prior = SpaceFeatures(space=models.space), CapacityPrior()
        self.broken = dict.fromkeys(task.limits, 0)
        self.dearest: dict[str, float] = {}
        self.cheapest: dict[str, float] = {}

    def __call__(self, codes_NG: Places) -> Judged:
        chunks = [self._judged(codes_NG[i : i + _CHUNK]) for i in range(0, max(len(codes_NG), 1), _CHUNK)]
        return Judged(
            codes_NG=codes_NG,
            costs_NM=np.concatenate([one.costs_NM for one in chunks]),
            excess_N=np.concatenate([one.excess_N for one in chunks]),
        )

    def costs(self, columns: SpaceColumns) -> Mapping[str, Floats]:
        """The predicted costs by name."""
        costs = self._price(columns)
        wanted = {*self.task.objectives, *self.task.limits} - set(METRICS)
        if missing := sorted(wanted - costs.keys()):
            raise InputError(f"screening: nothing prices {', '.join(missing)}; known: {', '.join(sorted(costs))}")
        return costs

    def quality(self, columns: SpaceColumns) -> tuple[Floats, Floats] | None:
        """Mean and standard deviation of quality as a cost."""
        if self._accuracy is None or self._describe is None:
            return None
        return self._accuracy.predict(self._describe(columns))

    def described(self, judged: Judged, places: NDArray[np.intp]) -> Floats:
        """[K, X]: some of the candidates by their choices."""
        return self._features(self.models.columns(judged.codes_NG[places]))

    def _judged(self, codes_NG: Places) -> Judged:
        columns = self.models.columns(codes_NG)
        costs = self.costs(columns)
        excess = violations(costs, self.task.limits)
        self._take_in(costs, excess)
        priced = [name for name in self.task.objectives if name not in METRICS]
        columns_M = objective_costs(costs, priced)
        if len(priced) < len(self.task.objectives):
            quality = self.quality(columns)
            columns_M.append(-self._prior(columns.candidates) if quality is None else quality[0] - quality[1])
        broken_N = np.zeros(len(codes_NG))
        for one in excess.values():
            broken_N += np.maximum(one, 0.0)
        return Judged(codes_NG=codes_NG, costs_NM=np.stack(columns_M, axis=1), excess_N=broken_N)

    def _take_in(self, costs: Mapping[str, Floats], excess: Mapping[str, Floats]) -> None:
        for name, values in costs.items():
            # No capacity at all is no measure of how little counts.
            counted = values[values > 0] if OBJECTIVES.get(name) else values
            if not len(counted):
                continue
            least, most = float(counted.min()), float(counted.max())
            best, worst = (most, least) if OBJECTIVES.get(name) else (least, most)
            better, worse = (max, min) if OBJECTIVES.get(name) else (min, max)
            self.dearest[name] = worse(self.dearest.get(name, worst), worst)
            self.cheapest[name] = better(self.cheapest.get(name, best), best)
        for name, values in excess.items():
            self.broken[name] += int((values > 0).sum())


def _nearest_misses(excess_N: Floats) -> NDArray[np.intp]:
    misses = np.flatnonzero(excess_N > 0)
    return misses[np.argsort(excess_N[misses], kind="stable")[:_MOST_RULED_OUT]]


def _first(space: SearchSpace, most: int, first_NG: Places | None, rng: np.random.Generator) -> Places:
    random_NG = space.sample(min(most, Evolution().children), rng)
    given = () if first_NG is None else (first_NG,)
    return np.concatenate((*given, space.extremes(), random_NG))


def _kept(
    judge: "_Judge", judged: Judged, holds: NDArray[np.intp], front: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The places of those that are handed on, the front first, and which of them are on it."""
    keep = judge.task.keep
    most_of_front = keep if len(holds) == len(front) else keep - keep // 2
    chosen = front[spread_out(judged.costs_NM[front], most_of_front)]
    others = np.setdiff1d(holds, chosen)
    if len(others) > _MOST_SPREAD:
        others = others[np.linspace(0, len(others) - 1, _MOST_SPREAD).astype(np.intp)]
    fill = others[spread_out(judge.described(judged, others), keep - len(chosen), judge.described(judged, chosen))]
    kept = np.concatenate((chosen, fill))
    return kept, np.isin(kept, front)


def _nothing_fits(space: SearchSpace, judge: _Judge, judged: Judged, *, complete: bool) -> str:
    costs = judge.costs(judge.models.columns(judged.codes_NG))
    of_what = "the space's " if complete else ""
    which = f"none of {of_what}{len(judged):,} candidates"
    return nothing_fits(
        costs,
        judge.task.limits,
        which,
        lambda place: space_candidate(space, space.choices(judged.codes_NG[place])).model.name,
    )
