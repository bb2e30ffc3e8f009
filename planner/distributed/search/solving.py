"""The search as a whole: choose options under thresholds, pack them in several ways, improve the best of those."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.distributed.search.assignment import Assignment
from planner.distributed.search.balance import balance, is_overfull, repair_memory
from planner.distributed.search.karmarkar_karp import largest_differencing
from planner.distributed.search.lower_bound import (
    Choices,
    LowerBound,
    fitting_prices,
    lower_bound,
    marginal_choice,
)
from planner.distributed.search.packing import Order, Stuck, pack
from planner.distributed.search.problem import Problem
from planner.distributed.search.resharding import reshard_slowest

__all__ = ["Solution", "first_fit", "solve"]

Integers = NDArray[np.int64]
# Largest shards tried, over the lower bound: finer ones cost more work and pack better.
_THRESHOLDS = (4.0, 1.4, 1.0, 0.7, 0.4)
# Few units are hard to balance and quick to pack: more is tried of everything.
_FEW_UNITS = 100
_DENSE_THRESHOLDS = (*_THRESHOLDS, *(2.0 * 0.93**step for step in range(40)))
# Shares of a tier that one item, and all items together, may take: tried in turn until something fits.
_GRAINS = ((1.0, 1.0), (1.0, 0.9), (0.25, 1.0), (0.25, 0.9), (0.05, 1.0), (0.01, 1.0))
_ORDERS: tuple[Order, ...] = ("time", "both", "memory")
_IMPROVED = 3
_IMPROVED_OF_FEW = 50
_CLOSE_ENOUGH = 3e-4
# In all, spread over units, since each looks at every option of what lies on a rank.
_RESHARDINGS = 24_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Solution:
    """The best assignment found and what bounds it."""

    assignment: Assignment
    bound: LowerBound


def solve(problem: Problem) -> Solution | Stuck:
    """Search; deterministic, so that the same problem has the same plan. Every unit must have an option."""
    choices = Choices(problem)
    bound = lower_bound(choices)
    target_ms = bound.ms * (1 + _CLOSE_ENOUGH)
    few = problem.units <= _FEW_UNITS
    packed = _packed(choices, bound.ms, _DENSE_THRESHOLDS if few else _THRESHOLDS)
    if isinstance(packed, Stuck):
        return packed
    packed.sort(key=lambda state: state.slowest_ms)
    best = packed[0]
    for state in _with_differencing(packed[: _IMPROVED_OF_FEW if few else _IMPROVED]):
        _improve(state, target_ms)
        best = min(best, state, key=lambda one: one.slowest_ms)
        if best.slowest_ms <= target_ms:
            break
    return Solution(assignment=best, bound=bound)


def first_fit(problem: Problem) -> Assignment | Stuck:
    """Any assignment that fits in memory, without regard to balance; where a search ended that found none."""
    packed = _packed(Choices(problem), float(problem.options.work_O.max()), thresholds=(1.0,))
    return packed if isinstance(packed, Stuck) else packed[0]


def _packed(every: Choices, bound_ms: float, thresholds: Sequence[float]) -> list[Assignment] | Stuck:
    """Packings of different choices of options, from the first grain at which any fits."""
    stuck, problem = Stuck(0, np.inf), every.problem
    for grain, fill in _GRAINS:
        packed: list[Assignment] = []
        choices = every if grain == 1 else Choices(problem, _fine_options(problem, grain))
        for option_U in _choices_under(choices, [bound_ms * factor for factor in thresholds], fill):
            state = _first_packing(problem, option_U)
            if isinstance(state, Assignment):
                packed.append(state)
            else:
                stuck = min(stuck, state, key=lambda one: one.short_bytes)
        if packed:
            return packed
    return stuck


def _fine_options(problem: Problem, grain: float) -> NDArray[np.bool_]:
    """Options [O] whose items take at most that share of a rank's or node's memory, or the least that the unit can."""
    most_OT = problem.options.bytes_OGT.max(axis=1)
    roomy_T = np.minimum(problem.capacities.rank_T, problem.capacities.node_T)
    share_O = (most_OT / np.maximum(roomy_T, 1.0)).max(axis=1)
    least_U = np.minimum.reduceat(share_O, problem.start_U1[:-1])
    fine_O: NDArray[np.bool_] = share_O <= np.maximum(grain, least_U)[problem.options.unit_O]
    return fine_O


def _choices_under(choices: Choices, thresholds: Sequence[float], fill: float) -> Iterator[Integers]:
    """Each different choice of options [U] under the thresholds, with memory filled to `fill` where possible."""
    seen: set[bytes] = set()
    no_price_T = np.zeros_like(choices.problem.capacities.total_T)
    for threshold in thresholds:
        price_T = fitting_prices(choices, threshold, no_price_T, fill)
        for option_U in (choices.chosen(threshold, price_T), marginal_choice(choices, threshold, price_T, fill)):
            if option_U is not None and option_U.tobytes() not in seen:
                seen.add(option_U.tobytes())
                yield option_U
    if not seen and (option_U := choices.chosen(np.inf, fitting_prices(choices, np.inf, no_price_T, fill))) is not None:
        yield option_U


def _first_packing(problem: Problem, option_U: Integers) -> Assignment | Stuck:
    state: Assignment | Stuck = Stuck(0, np.inf)
    for order in _ORDERS:
        state = pack(problem, option_U, order)
        if isinstance(state, Assignment):
            break
    return state


def _with_differencing(packed: list[Assignment]) -> Iterator[Assignment]:
    """Each packing, or the largest differencing of its options where that balances better and fits."""
    for state in packed:
        differenced = largest_differencing(state.problem, state.option_U)
        if differenced is None or differenced.slowest_ms >= state.slowest_ms:
            yield state
        elif not is_overfull(differenced) or repair_memory(differenced, state.problem.ranks * 8):
            yield min(state, differenced, key=lambda one: one.slowest_ms)
        else:
            yield state


def _improve(state: Assignment, target_ms: float) -> None:
    """Moves and swaps until none helps, then units placed anew, in turn."""
    balance(state, target_ms, 20 * state.problem.ranks)
    for _ in range(min(60, _RESHARDINGS // state.problem.units)):
        if state.slowest_ms <= target_ms or not reshard_slowest(state):
            break
        balance(state, target_ms, state.problem.ranks)
