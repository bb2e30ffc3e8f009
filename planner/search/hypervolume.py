"""How much of the space between a reference point and perfection a set of candidates covers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.search.objective import objective_costs
from planner.search.pareto import non_dominated
from planner.study import OBJECTIVES
from profiles.errors import InputError

__all__ = ["hypervolume", "ideal_costs", "normalised_hypervolume", "reference_point"]

# What is known without training: chance (0.5), and always answering one half (ln 2).
_WORST_METRIC: Mapping[str, float] = {"accuracy": 0.5, "auc": 0.5, "log_loss": math.log(2)}
_BEYOND_THE_DEAREST = 1.1


def hypervolume(costs_NM: NDArray[Any], reference_M: NDArray[Any]) -> float:
    """The exact volume that N points (less is better) dominate up to `reference_M`, overlaps counted once.

    Slices along the last cost, recursively, down to a sweep over two. Points not strictly better than the reference in
    every cost cover nothing.
    """
    costs_NM = np.asarray(costs_NM, dtype=float)
    reference_M = np.asarray(reference_M, dtype=float)
    if costs_NM.ndim != 2 or costs_NM.shape[1:] != reference_M.shape or not len(reference_M):
        raise InputError(f"hypervolume: points {costs_NM.shape} do not fit the reference {reference_M.shape}")
    inside_NM = costs_NM[(costs_NM < reference_M).all(axis=1)]
    return _volume(inside_NM[non_dominated(inside_NM)], reference_M)


def reference_point(
    objectives: Sequence[str], limits: Mapping[str, float], dearest: Mapping[str, float]
) -> dict[str, float]:
    """The worst value of each objective that still counts: the same for every run of a study, whatever was tried.

    A constrained cost counts up to its limit, another up to a tenth beyond the dearest candidate of the space; AUC and
    accuracy from 0.5, log loss from ln 2. `dearest` holds the worst of each cost, the least of one that should be high.
    """
    return {
        name: _WORST_METRIC[name] if name in _WORST_METRIC else limits.get(name, _beyond(name, dearest))
        for name in objectives
    }


def _beyond(name: str, dearest: Mapping[str, float]) -> float:
    return dearest[name] / _BEYOND_THE_DEAREST if OBJECTIVES[name] else dearest[name] * _BEYOND_THE_DEAREST


def normalised_hypervolume(points: Sequence[Mapping[str, float]], reference: Mapping[str, float]) -> float:
    """The share of the box between `reference` and perfection that `points` (values by objective) cover: 0 to 1.

    Perfection is 1 for AUC and accuracy and 0 for log loss and every cost.
    """
    objectives = tuple(reference)
    worst_M = np.array(objective_costs(reference, objectives))
    best_M = np.array(ideal_costs(objectives))
    span_M = worst_M - best_M
    if not points or not (span_M > 0).all():
        return 0.0
    costs_NM = np.array([objective_costs(point, objectives) for point in points])
    return hypervolume((costs_NM - best_M) / span_M, np.ones(len(objectives)))


def ideal_costs(objectives: Sequence[str]) -> list[float]:
    """Perfection in each objective as a cost: an AUC or accuracy of 1, else nothing at all."""
    return [-1.0 if name in ("accuracy", "auc") else 0.0 for name in objectives]


def _volume(front_NM: NDArray[Any], reference_M: NDArray[Any]) -> float:
    if not len(front_NM):
        return 0.0
    if len(reference_M) == 1:
        return float(reference_M[0] - front_NM.min())
    if len(reference_M) == 2:
        return _area(front_NM, reference_M)
    ordered_NM = front_NM[np.argsort(front_NM[:, -1], kind="stable")]
    depths = np.diff(np.append(ordered_NM[:, -1], reference_M[-1]))
    slices = (ordered_NM[: count + 1, :-1] for count in range(len(ordered_NM)))
    return sum(
        float(depth) * _volume(points[non_dominated(points)], reference_M[:-1])
        for depth, points in zip(depths, slices, strict=True)
        if depth > 0
    )


def _area(front_N2: NDArray[Any], reference_2: NDArray[Any]) -> float:
    ordered_N2 = front_N2[np.lexsort((front_N2[:, 1], front_N2[:, 0]))]
    lowest_N = np.minimum.accumulate(ordered_N2[:, 1])
    widths_N = np.diff(np.append(ordered_N2[:, 0], reference_2[0]))
    return float((widths_N * (reference_2[1] - lowest_N)).sum())
