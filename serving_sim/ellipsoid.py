"""The ellipsoid method: minimise a convex function of a few variables from its values and subgradients alone."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cut", "minimise_on_unit_box"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Cut:
    """Known at a point: the minimum lies where `gradient_D . (x - point)` <= 0. No `value`: not allowed there."""

    gradient_D: Floats
    value: float | None


def minimise_on_unit_box(
    cut_at: Callable[[Floats], Cut], dimensions: int, *, tolerance: float = 1e-6, steps_per_dimension: int = 200
) -> tuple[Floats, float]:
    """The best point seen in [0, 1]^D and its value, within `tolerance` relative or when the steps are used up.

    The method (Shor, Yudin and Nemirovski, 1976) needs about 2 D^2 ln(1 / tolerance) steps. It starts from the box's
    middle and only approaches its faces, so `cut_at` must allow points inside.
    """
    point_D, shape_DD = np.full(dimensions, 0.5), np.eye(dimensions) * dimensions / 4
    best_D, best = point_D.copy(), np.inf
    for _ in range(steps_per_dimension * dimensions):
        cut = _box_cut(point_D) or cut_at(point_D)
        if cut.value is not None and cut.value < best:
            best_D, best = point_D.copy(), cut.value
        reach = math.sqrt(max(float(cut.gradient_D @ shape_DD @ cut.gradient_D), 0.0))
        if reach == 0.0 or (cut.value is not None and reach <= tolerance * abs(cut.value)):
            break
        point_D, shape_DD = _shrink(point_D, shape_DD, shape_DD @ cut.gradient_D / reach)
    return best_D, float(best)


def _box_cut(point_D: Floats) -> Cut | None:
    outside = np.flatnonzero((point_D < 0) | (point_D > 1))
    if not outside.size:
        return None
    gradient_D = np.zeros_like(point_D)
    gradient_D[outside[0]] = np.sign(point_D[outside[0]] - 0.5)
    return Cut(gradient_D=gradient_D, value=None)


def _shrink(point_D: Floats, shape_DD: Floats, step_D: Floats) -> tuple[Floats, Floats]:
    """The smallest ellipsoid around the half that the cut leaves."""
    n = len(point_D)
    if n == 1:
        return point_D - step_D / 2, shape_DD / 4
    shrunk_DD = (shape_DD - 2 / (n + 1) * np.outer(step_D, step_D)) * (n * n / (n * n - 1))
    return point_D - step_D / (n + 1), shrunk_DD
