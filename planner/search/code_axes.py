"""Codes of candidates taken apart into the positions of all axes, to be mixed and moved, and put together again.

Array suffixes: N candidates, G factors, A axes of all factors.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner.search.factors import Places
from planner.search.search_space import SearchSpace

__all__ = ["CodeAxes"]

Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CodeAxes:
    """Every axis of a space, those of one factor side by side; numbers are counted in order of size."""

    space: SearchSpace
    factor_A: NDArray[np.intp] = field(init=False)
    offered_A: NDArray[np.intp] = field(init=False)
    is_number_A: NDArray[np.bool_] = field(init=False)
    _order: tuple[NDArray[np.intp], ...] = field(init=False)

    def __post_init__(self) -> None:
        axes = [(g, axis) for g, factor in enumerate(self.space.factors) for axis in factor.axes]
        is_number = [not isinstance(axis.offered[0], str) for _, axis in axes]
        order = [
            np.argsort(axis.offered, kind="stable") if numbers else np.arange(len(axis.offered))
            for (_, axis), numbers in zip(axes, is_number, strict=True)
        ]
        object.__setattr__(self, "factor_A", np.array([g for g, _ in axes]))
        object.__setattr__(self, "offered_A", np.array([len(axis.offered) for _, axis in axes]))
        object.__setattr__(self, "is_number_A", np.array(is_number))
        object.__setattr__(self, "_order", tuple(order))

    def apart(self, codes_NG: Places, rng: np.random.Generator) -> Positions:
        """[N, A]: the position of each axis; one that plays no part has any, as it may come to play one."""
        positions_NA = rng.integers(0, self.offered_A, size=(len(codes_NG), len(self.offered_A)))
        place = 0
        for g, factor in enumerate(self.space.factors):
            for chosen_N in factor.positions(codes_NG[:, g]).values():
                rank = np.argsort(self._order[place])
                is_drawn = chosen_N >= 0
                positions_NA[is_drawn, place] = rank[chosen_N[is_drawn]]
                place += 1
        return positions_NA

    def together(self, positions_NA: Positions) -> Places:
        """[N, G]: the codes; axes that play no part are not looked at."""
        columns, place = [], 0
        for factor in self.space.factors:
            chosen = {}
            for axis in factor.axes:
                chosen[axis.name] = self._order[place][positions_NA[:, place]]
                place += 1
            columns.append(factor.places(chosen))
        return np.stack(columns, axis=1)
