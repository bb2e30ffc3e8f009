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
# Of a factor with no more places all positions are kept.
_MOST_IN_TABLE = 1 << 18


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FactorMoves:
    """Moves within a factor, whose numbers are counted in order of size."""

    factor: Factor
    _offered_A: Positions = field(init=False)
    _is_number_A: NDArray[np.bool_] = field(init=False)
    _order: tuple[Positions, ...] = field(init=False)
    _rank: tuple[Positions, ...] = field(init=False)
    _ranks_PA: Positions | None = field(init=False)

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
        is_small = self.factor.size <= _MOST_IN_TABLE
        object.__setattr__(self, "_ranks_PA", self._ranks(np.arange(self.factor.size)) if is_small else None)

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
        ranks_NA = self._ranks(place_N) if self._ranks_PA is None else self._ranks_PA[place_N]
        is_drawn_NA = ranks_NA >= 0
        any_NA = (rng.random(ranks_NA.shape, dtype=np.float32) * self._offered_A).astype(np.intp)
        return np.where(is_drawn_NA, ranks_NA, np.minimum(any_NA, self._offered_A - 1)), is_drawn_NA

    def _ranks(self, place_N: Places) -> Positions:
        """[N, A]: the positions of all axes in order of size, -1 where one is not drawn."""
        positions = self.factor.positions(place_N).values()
        # The last entry is for position -1.
        ranks = [np.append(rank, -1)[chosen_N] for rank, chosen_N in zip(self._rank, positions, strict=True)]
        return np.stack(ranks, axis=1)

    def _together(self, positions_NA: Positions) -> Places:
        chosen = {axis.name: self._order[a][positions_NA[:, a]] for a, axis in enumerate(self.factor.axes)}
        return self.factor.places(chosen)
