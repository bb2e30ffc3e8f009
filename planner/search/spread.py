"""A few points that lie far from each other.

Shape suffixes: N points, D coordinates, B points beside them.
"""

import numpy as np
from numpy.typing import NDArray

from planner.search.accuracy_model import Floats

__all__ = ["spread_out"]

_BLOCK = 512


def spread_out(points_ND: Floats, count: int, beside_BD: Floats | None = None) -> NDArray[np.intp]:
    """The places of `count` points (all where there are no more), each the farthest from those before it.

    Coordinates count in shares of their span, infinite ones as the greatest finite one. The first is the farthest from
    `beside_BD` or, where that is empty, the one of least coordinates; ties go to the earlier one.
    Source: T. Gonzalez 1985, doi 10.1016/0304-3975(85)90224-5.
    """
    if len(points_ND) <= count:
        return np.arange(len(points_ND))
    beside_BD = np.zeros((0, points_ND.shape[1])) if beside_BD is None else beside_BD
    scaled_ND = _scaled(np.concatenate((points_ND, beside_BD)))
    points_ND, beside_BD = scaled_ND[: len(points_ND)], scaled_ND[len(points_ND) :]
    squares_N = (points_ND**2).sum(axis=1)
    distance_N = np.full(len(points_ND), np.inf)
    for start in range(0, len(beside_BD), _BLOCK):
        some_BD = beside_BD[start : start + _BLOCK]
        squares_NB = squares_N[:, None] + (some_BD**2).sum(axis=1) - 2 * (points_ND @ some_BD.T)
        np.minimum(distance_N, squares_NB.min(axis=1), out=distance_N)
    chosen: list[int] = []
    while len(chosen) < count:
        place = int(distance_N.argmax()) if chosen or len(beside_BD) else int(points_ND.sum(axis=1).argmin())
        chosen.append(place)
        np.minimum(distance_N, squares_N + squares_N[place] - 2 * (points_ND @ points_ND[place]), out=distance_N)
        distance_N[place] = -np.inf
    return np.array(chosen, dtype=np.intp)


def _scaled(points_ND: Floats) -> Floats:
    finite_ND = np.isfinite(points_ND)
    least_D = np.min(points_ND, axis=0, where=finite_ND, initial=np.inf)
    most_D = np.max(points_ND, axis=0, where=finite_ND, initial=-np.inf)
    most_D = np.where(np.isfinite(most_D), most_D, 0.0)
    least_D = np.where(np.isfinite(least_D), least_D, 0.0)
    span_D = np.where(most_D > least_D, most_D - least_D, 1.0)
    scaled_ND: Floats = (np.clip(points_ND, least_D, most_D) - least_D) / span_D
    return scaled_ND
