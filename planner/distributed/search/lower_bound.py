"""What no plan beats: a bound on the slowest rank, and the choice of options that attains it on average.

If a plan's slowest rank takes T, each unit has an option with no more than T on any rank. So all ranks together do
at least the sum of the units' least work among such options, and the slowest at least the mean, G(T). G falls
as T grows; the bound is the least T with G(T) <= T. Memory enters by prices per byte (Lagrange multipliers): work plus
priced bytes, less the price of all capacity, is a bound for every price >= 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.distributed.search.problem import Problem

__all__ = ["Choices", "LowerBound", "fitting_prices", "lower_bound", "marginal_choice"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_ROUNDS = 3
_STEPS = 40


class Choices:
    """Each unit's options in order of their largest shard [U, M], to be chosen from under a threshold at once.

    Only `usable_O` [O] are looked at, where given; every unit must have one.
    """

    def __init__(self, problem: Problem, usable_O: NDArray[np.bool_] | None = None) -> None:
        kept_O = np.arange(len(problem.options)) if usable_O is None else np.flatnonzero(usable_O)
        options = problem.options.where(kept_O)
        start_U1 = np.searchsorted(options.unit_O, np.arange(problem.units + 1))
        counts_U = np.diff(start_U1)
        order_O = np.lexsort((options.work_O, options.largest_O, options.unit_O))
        place_O = np.arange(len(options)) - np.repeat(start_U1[:-1], counts_U)
        self.problem = problem
        self.option_UM = np.zeros((problem.units, int(counts_U.max())), dtype=np.int64)
        self.largest_UM = np.full(self.option_UM.shape, np.inf)
        unit_O = options.unit_O[order_O]
        self.option_UM[unit_O, place_O] = kept_O[order_O]
        self.largest_UM[unit_O, place_O] = options.largest_O[order_O]
        self._absent_UM = np.isinf(self.largest_UM)

    def scores(self, price_T: Floats) -> Floats:
        """Work plus priced bytes of each option [U, M]."""
        options = self.problem.options
        score_O = options.work_O + options.total_bytes_OT @ price_T
        score_UM = score_O[self.option_UM]
        score_UM[self._absent_UM] = np.inf
        return score_UM

    def chosen(self, threshold: float, price_T: Floats) -> Integers | None:
        """Each unit's option [U] of the least score with no shard above the threshold; None where a unit has none.

        Of equal scores the one with the smaller shards is taken.
        """
        score_UM = np.where(self.largest_UM <= threshold, self.scores(price_T), np.inf)
        best_U = score_UM.argmin(axis=1)
        units_U = np.arange(len(best_U))
        if np.isinf(score_UM[units_U, best_U]).any():
            return None
        chosen_U: Integers = self.option_UM[units_U, best_U]
        return chosen_U

    def bound(self, price_T: Floats) -> tuple[float, bool]:
        """The bound at these prices, and whether it is a mean (else the largest shard that cannot be avoided)."""
        problem = self.problem
        least_UM = np.minimum.accumulate(self.scores(price_T), axis=1)
        gain_UM = np.diff(least_UM, axis=1, prepend=0.0)
        start = float(self.largest_UM[:, 0].max())
        order = np.argsort(self.largest_UM, axis=None, kind="stable")
        order = order[: int((~self._absent_UM).sum())]
        largest = self.largest_UM.ravel()[order]
        mean = (np.cumsum(gain_UM.ravel()[order]) - float(price_T @ problem.capacities.total_T)) / problem.ranks
        first = int(np.searchsorted(largest, start, side="right")) - 1
        threshold = np.maximum(largest[first:], start)
        attained = np.maximum(threshold, mean[first:])
        best = int(attained.argmin())
        return float(attained[best]), bool(mean[first + best] >= threshold[best])


@dataclass(frozen=True, kw_only=True, slots=True)
class LowerBound:
    """The bound, why it holds, and the prices [T] of a byte in each tier (ms) that give it."""

    ms: float
    kind: str
    price_T: Floats


def lower_bound(choices: Choices) -> LowerBound:
    """The best bound found over prices of memory: of no price, and of prices at which the chosen bytes fit."""
    tiers = len(choices.problem.capacities.total_T)
    free_T = np.zeros(tiers)
    ms, is_mean = choices.bound(free_T)
    best = LowerBound(ms=ms, kind=_kind(is_mean=is_mean, priced=False), price_T=free_T)
    price_T = free_T
    for _ in range(_ROUNDS):
        price_T = fitting_prices(choices, best.ms * (1 + 1e-9), price_T)
        ms, is_mean = choices.bound(price_T)
        if ms <= best.ms:
            break
        best = LowerBound(ms=ms, kind=_kind(is_mean=is_mean, priced=True), price_T=price_T)
    return best


def fitting_prices(choices: Choices, threshold: float, price_T: Floats, fill: float = 1.0) -> Floats:
    """The least prices [T], tier by tier from the fastest, at which the options chosen fit the capacity times `fill`.

    Where no price does, the highest tried stands.
    """
    price_T = price_T.copy()
    options, total_T = choices.problem.options, choices.problem.capacities.total_T * fill
    top = float(options.work_O.max()) or 1.0

    def used(tier: int, price: float) -> float:
        price_T[tier] = price
        chosen_U = choices.chosen(threshold, price_T)
        return np.inf if chosen_U is None else float(options.total_bytes_OT[chosen_U, tier].sum())

    for tier in range(len(price_T)):
        if used(tier, 0.0) <= total_T[tier]:
            continue
        # Prices from a share of the work per byte up to more work than there is for one byte of any option.
        low, high = np.log(top) - 40.0, np.log(top)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if used(tier, float(np.exp(middle))) <= total_T[tier] else (middle, high)
        price_T[tier] = float(np.exp(high))
    return price_T


def marginal_choice(choices: Choices, threshold: float, price_T: Floats, fill: float = 1.0) -> Integers | None:
    """The options [U] chosen at these prices, but of units that would choose otherwise without one as many as fit.

    At one price, units that are alike all choose alike, so that between two prices a tier goes from overfull to empty.
    Those whose score loses least change first: as long as a tier is overfull, then where they take less work. None
    where there is no price, or no choice.
    """
    option_U = choices.chosen(threshold, price_T) if price_T.any() else None
    if option_U is None:
        return None
    options = choices.problem.options
    bytes_OT, score_O = options.total_bytes_OT, options.work_O + options.total_bytes_OT @ price_T
    room_T = choices.problem.capacities.total_T * fill - bytes_OT[option_U].sum(axis=0)
    for tier in np.flatnonzero(price_T > 0).tolist():
        other_U = choices.chosen(threshold, np.where(np.arange(len(price_T)) == tier, 0.0, price_T))
        if other_U is None:
            continue
        changing = np.flatnonzero(other_U != option_U)
        loss = (score_O[other_U] - score_O[option_U])[changing]
        for unit in changing[np.argsort(loss, kind="stable")].tolist():
            added_T = bytes_OT[other_U[unit]] - bytes_OT[option_U[unit]]
            fits = bool(((added_T <= room_T) | (added_T <= 0)).all())
            is_relief = bool((added_T[room_T < 0] < 0).any())
            if fits and (is_relief or options.work_O[other_U[unit]] < options.work_O[option_U[unit]]):
                option_U[unit] = other_U[unit]
                room_T -= added_T
    return option_U


def _kind(*, is_mean: bool, priced: bool) -> str:
    why = "mean over ranks of the least work" if is_mean else "smallest largest shard"
    return f"{why}, with memory priced" if priced else why
