"""Local search over whole units: another option, or other places, for what lies on the slowest rank."""

import numpy as np
from numpy.typing import NDArray

from planner.distributed.search.assignment import Assignment
from planner.distributed.search.options import NODE
from planner.distributed.search.places import find_places

__all__ = ["reshard_slowest"]

Integers = NDArray[np.int64]
_GAIN = 1e-9
_OPTIONS = 24


def reshard_slowest(state: Assignment) -> bool:
    """Take one unit off the slowest rank and place it anew where that leaves all ranks it touches faster.

    The unit and option that leave the slowest of them fastest are taken, of equal ones the one with the least work;
    False where none helps.
    """
    rank = int(state.load_P.argmax())
    limit = float(state.load_P[rank]) * (1 - _GAIN)
    best: tuple[float, float, int, int, Integers] | None = None
    for unit in _units_on(state, rank):
        held, places = state.take(unit)
        for option in _worth_trying(state, unit, limit):
            found = find_places(state, unit, option)
            if found is None:
                continue
            outcome = (_worst(state, rank, option, found), float(state.problem.options.work_O[option]))
            if outcome[0] < limit and (best is None or outcome < best[:2]):
                best = (*outcome, unit, option, found)
        state.put(unit, held, places)
    if best is None:
        return False
    state.take(best[2])
    state.put(best[2], best[3], best[4])
    return True


def _units_on(state: Assignment, rank: int) -> list[int]:
    """The units that take the rank, but not those that take every rank."""
    problem = state.problem
    unit_I = np.repeat(np.arange(problem.units), [len(places) for places in state.places_U])
    takes_node_I = problem.options.kind_O[state.option_U[unit_I]] == NODE
    place_I = np.concatenate([np.zeros(0, dtype=np.int64), *state.places_U])
    units: list[int] = np.unique(unit_I[place_I == np.where(takes_node_I, rank // problem.devices, rank)]).tolist()
    return units


def _worth_trying(state: Assignment, unit: int, limit: float) -> Integers:
    """Options of the unit that leave the lightest rank and the mean below the limit: those with the least work."""
    problem = state.problem
    options = np.array(problem.options_of(unit))
    largest_O = problem.options.largest_O[options]
    mean_O = (state.load_P.sum() + problem.options.work_O[options]) / problem.ranks
    kept = options[(largest_O + state.load_P.min() < limit) & (mean_O < limit)]
    cheapest: Integers = kept[np.argsort(problem.options.work_O[kept], kind="stable")[:_OPTIONS]]
    return cheapest


def _worst(state: Assignment, rank: int, option: int, places: Integers) -> float:
    """The greatest load on the ranks that the option would take, and on the rank that the unit left."""
    ranks = state.ranks_of(option, places)
    return max(float((state.load_P[ranks] + state.ms_of(option)).max()), float(state.load_P[rank]))
