"""Steps from one choice of a factor to another: a neighbour, or a mixture of two.

Array suffixes: N places, A axes of the factor.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner.search.factors import Factor, Places

__all__ = ["FactorMoves"]

Positions = NDArray[np.intp]

# A number that changes goes to a neighbour, but so often anywhere.
_LEAP = 0.2


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FactorMoves:
    """Moves within a factor, whose numbers are counted in order of size."""

    factor: Factor
    _offered_A: Positions = field(init=False)
    _is_number_A: NDArray[np.bool_] = field(init=False)
    _order: tuple[Positions, ...] = field(init=False)
    _rank: tuple[Positions, ...] = field(init=False)

    def __post_init__(self) -> None:
        axes = self.factor.axes
        is_number = [not isinstance(axis.offered[0], str) for axis in axes]
        order = tuple(
            np.argsort(axis.offered, kind="stable") if numbers else np.arange(len(axis.offered))
            for axis, numbers in zip(axes, is_number, strict=True)
        )
        object.__setattr__(self, "_offered_A", np.array([len(axis.offered) for axis in axes]))
        object.__setattr__(self, "_is_number_A", np.array(is_number))
        object.__setattr__(self, "_order", order)
        object.__setattr__(self, "_rank", tuple(np.argsort(one) for one in order))

    def mutated(self, place_N: Places, rng: np.random.Generator) -> Places:
        """Each with another choice on one of its axes: a number next to it as a rule, any word."""
        positions_NA, is_drawn_NA = self._apart(place_N, rng)
        rows, count = np.arange(len(place_N)), len(self._offered_A)
        axis_N = np.argmax(rng.random((len(place_N), count)) * is_drawn_NA * (self._offered_A > 1), axis=1)
        offered_N, now_N = self._offered_A[axis_N], positions_NA[rows, axis_N]
        near_N = np.clip(now_N + rng.choice((-1, 1), len(place_N)), 0, offered_N - 1)
        # One of the others, each as likely.
        far_N = (now_N + rng.integers(1, np.maximum(offered_N, 2))) % offered_N
        leaps_N = ~self._is_number_A[axis_N] | (rng.random(len(place_N)) < _LEAP)
        positions_NA[rows, axis_N] = np.where(leaps_N, far_N, near_N)
        return self._together(positions_NA)

    def mixed(self, left_N: Places, right_N: Places, rng: np.random.Generator) -> Places:
        """Each with every axis from either of its two."""
        (left_NA, in_left_NA), (right_NA, in_right_NA) = self._apart(left_N, rng), self._apart(right_N, rng)
        from_left_NA = rng.random(left_NA.shape) < 0.5
        # What one of the two does not choose comes from the other.
        from_left_NA = np.where(in_left_NA == in_right_NA, from_left_NA, in_left_NA)
        return self._together(np.where(from_left_NA, left_NA, right_NA))

    def _apart(self, place_N: Places, rng: np.random.Generator) -> tuple[Positions, NDArray[np.bool_]]:
        """The position of each axis and whether it is drawn; one that is not has any, as it may come to be."""
        positions_NA = (rng.random((len(place_N), len(self._offered_A))) * self._offered_A).astype(np.intp)
        is_drawn_NA = np.zeros(positions_NA.shape, dtype=np.bool_)
        for a, chosen_N in enumerate(self.factor.positions(place_N).values()):
            is_drawn_NA[:, a] = chosen_N >= 0
            rows = np.flatnonzero(is_drawn_NA[:, a])
            positions_NA[rows, a] = self._rank[a][chosen_N[rows]]
        return positions_NA, is_drawn_NA

    def _together(self, positions_NA: Positions) -> Places:
        chosen = {axis.name: self._order[a][positions_NA[:, a]] for a, axis in enumerate(self.factor.axes)}
        return self.factor.places(chosen)
