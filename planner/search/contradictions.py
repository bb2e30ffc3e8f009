"""Limits that no candidate holds: which ones contradict each other, and by how much the nearest candidate misses.

Array suffixes: N candidates.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from planner.search.accuracy_model import Floats
from planner.search.objective import format_cost, violations
from planner.study import OBJECTIVES

__all__ = ["contradiction", "misses", "nothing_fits"]


def contradiction(costs: Mapping[str, Floats], limits: Mapping[str, float]) -> tuple[str, ...]:
    """A set of limits that no candidate holds together, though all but any one of them some candidate does.

    Empty where some candidate holds all.
    """
    broken = {name: excess > 0 for name, excess in violations(costs, limits).items()}
    if not _nobody_holds(list(broken.values())):
        return ()
    for name in limits:
        others = [broken_N for other, broken_N in broken.items() if other != name]
        if _nobody_holds(others):
            del broken[name]
    return tuple(broken)


def misses(costs: Mapping[str, float], limits: Mapping[str, float]) -> str:
    """By how much one candidate misses each limit that it breaks, in words."""
    return ", ".join(
        f"{name} {format_cost(costs[name])} is {100 * abs(excess):.0f} % "
        f"{'below' if OBJECTIVES.get(name) else 'above'} {format_cost(limits[name])}"
        for name, excess in violations(costs, limits).items()
        if excess > 0
    )


def nothing_fits(
    costs: Mapping[str, Floats], limits: Mapping[str, float], which: str, name_of: Callable[[int], str]
) -> str:
    """The complaint that no candidate of `which` holds the limits; the nearest is the one of the least worst miss."""
    nearest = int(np.max(np.stack(list(violations(costs, limits).values())), axis=0).argmin())
    of_nearest = {name: float(costs[name][nearest]) for name in limits}
    least = ", ".join(f"{name} {format_cost(float(costs[name].min()))}" for name in limits if not OBJECTIVES.get(name))
    most = ", ".join(f"{name} {format_cost(float(costs[name].max()))}" for name in limits if OBJECTIVES.get(name))
    reached = "; ".join(text for text in (least and f"least: {least}", most and f"most: {most}") if text)
    return (
        f"search.constraints: {which} meets them: {_contradicting(costs, limits)}; "
        f"nearest is {name_of(nearest)}: {misses(of_nearest, limits)} ({reached})"
    )


def _contradicting(costs: Mapping[str, Floats], limits: Mapping[str, float]) -> str:
    """The limits that nobody holds by themselves, else a set that contradict each other."""
    told = {name: f"{name} {'>=' if OBJECTIVES.get(name) else '<='} {format_cost(limits[name])}" for name in limits}
    alone = [told[name] for name, excess in violations(costs, limits).items() if (excess > 0).all()]
    if alone:
        return f"none has {', none has '.join(alone)}"
    return f"{' and '.join(told[name] for name in contradiction(costs, limits))} contradict each other"


def _nobody_holds(broken: list[NDArray[np.bool_]]) -> bool:
    return bool(broken) and bool(np.logical_or.reduce(broken).all())
