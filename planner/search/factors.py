"""Choices that hang together: an axis that is drawn only under certain choices of others, and places among them all.

A factor is a small tree of choices counted as one number, so that nothing is enumerated: a place is an alternative (the
choices on which others depend) and, within it, one digit for each axis that is free, the first running fastest.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

__all__ = ["Axis", "Choice", "Choices", "Factor", "Places"]

Choice = str | int | float
Choices = Mapping[str, Choice]
Places = NDArray[np.int64]

_MOST_IN_TABLE = 1 << 18


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """What is offered under a name; drawn only where each axis in `needs`, named before, was chosen as it says."""

    name: str
    offered: tuple[Choice, ...]
    needs: Mapping[str, frozenset[Choice]] = field(default_factory=dict)

    def is_drawn(self, chosen: Choices) -> bool:
        """Whether it matters beside what was chosen so far."""
        return all(chosen.get(name) in wanted for name, wanted in self.needs.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Alternative:
    """The choices on which others depend, the axes that are free beside them, and the place of its first."""

    fixed: Choices
    free: Mapping[str, tuple[Choice, ...]]
    first: int

    @property
    def size(self) -> int:
        return math.prod(map(len, self.free.values()))


@dataclass(frozen=True)
class Factor:
    """Axes in the order in which they are drawn; names are written `NAME.AXIS` where the factor has a name."""

    name: str
    axes: tuple[Axis, ...]

    @cached_property
    def size(self) -> int:
        """How many different choices there are."""
        return sum(alternative.size for alternative in self._alternatives)

    def choices(self, place: int) -> dict[str, Choice]:
        """The choices at a place, by full name and in the order in which they are drawn.

        Raises:
            InputError: a place beyond the last.
        """
        return {self.full(name): choice for name, choice in self.own_choices(place).items()}

    def own_choices(self, place: int) -> dict[str, Choice]:
        """As `choices`, by the axes' own names."""
        for alternative in reversed(self._alternatives):
            if alternative.first <= place < self.size:
                rest, chosen = place - alternative.first, dict(alternative.fixed)
                for name, offered in alternative.free.items():
                    rest, digit = divmod(rest, len(offered))
                    chosen[name] = offered[digit]
                return {axis.name: chosen[axis.name] for axis in self.axes if axis.name in chosen}
        raise InputError(f"search space: places must be in 0 to {self.size - 1}, but got {place}")

    def place(self, choices: Choices) -> int:
        """The place of the choices that have this factor's names; others are not looked at.

        Raises:
            InputError: a choice that is missing or not offered.
        """
        chosen = {axis.name: choices[self.full(axis.name)] for axis in self.axes if self.full(axis.name) in choices}
        for alternative in self._alternatives:
            if alternative.fixed.items() <= chosen.items() and alternative.free.keys() <= chosen.keys():
                place, span = alternative.first, 1
                for name, offered in alternative.free.items():
                    if chosen[name] not in offered:
                        break
                    place, span = place + span * offered.index(chosen[name]), span * len(offered)
                else:
                    return place
        raise InputError(f"search space: offers no {dict(chosen)} under {self.name or 'the model'!r}")

    def positions(self, place_N: Places) -> dict[str, NDArray[np.intp]]:
        """For each axis, by its short name, which of what it offers is chosen at each place; -1 where none is."""
        if self._positions is not None:
            chosen_AN = self._positions[:, place_N]
            return {axis.name: chosen_N for axis, chosen_N in zip(self.axes, chosen_AN, strict=True)}
        return self._positions_of(place_N)

    def _positions_of(self, place_N: Places) -> dict[str, NDArray[np.intp]]:
        found = {axis.name: np.full(len(place_N), -1, dtype=np.intp) for axis in self.axes}
        offered = {axis.name: axis.offered for axis in self.axes}
        for alternative in self._alternatives:
            rows = np.flatnonzero((place_N >= alternative.first) & (place_N < alternative.first + alternative.size))
            if not len(rows):
                continue
            for name, choice in alternative.fixed.items():
                found[name][rows] = offered[name].index(choice)
            rest = place_N[rows] - alternative.first
            for name, free in alternative.free.items():
                rest, found[name][rows] = np.divmod(rest, len(free))
        return found

    def places(self, positions: Mapping[str, NDArray[np.intp]]) -> Places:
        """The inverse of `positions`; a position of an axis that is not drawn is not looked at."""
        if self._places is None:
            return self._places_of(positions)
        key_N = np.zeros(len(next(iter(positions.values()))), dtype=np.int64)
        for axis in self.axes:
            key_N = key_N * len(axis.offered) + np.maximum(positions[axis.name], 0)
        places_N: Places = self._places[key_N]
        return places_N

    def _places_of(self, positions: Mapping[str, NDArray[np.intp]]) -> Places:
        count = len(next(iter(positions.values())))
        place_N = np.full(count, -1, dtype=np.int64)
        offered = {axis.name: axis.offered for axis in self.axes}
        for alternative in self._alternatives:
            is_here = place_N < 0
            for name, choice in alternative.fixed.items():
                is_here &= positions[name] == offered[name].index(choice)
            rows, span = np.flatnonzero(is_here), 1
            here = np.full(len(rows), alternative.first, dtype=np.int64)
            for name, free in alternative.free.items():
                here, span = here + span * positions[name][rows], span * len(free)
            place_N[rows] = here
        return place_N

    def corners(self) -> list[int]:
        """In pairs, under each of the choices that others need: every free number at its least, and at its greatest."""
        places: list[int] = []
        for alternative in self._alternatives:
            for extreme in (min, max):
                place, span = alternative.first, 1
                for offered in alternative.free.values():
                    is_text = isinstance(offered[0], str)
                    place += span * (0 if is_text else offered.index(extreme(offered, key=float)))
                    span *= len(offered)
                places.append(place)
        return places

    def suggest(self, trial: "BaseTrial") -> dict[str, Choice]:
        """Choices drawn by the trial's sampler, by full name; what does not matter is not asked for."""
        chosen: dict[str, Choice] = {}
        for axis in self.axes:
            if axis.is_drawn(chosen):
                drawn: Any = trial.suggest_categorical(self.full(axis.name), axis.offered)
                chosen[axis.name] = drawn
        return {self.full(name): choice for name, choice in chosen.items()}

    def full(self, axis: str) -> str:
        """An axis' name in the choices of a candidate."""
        return f"{self.name}.{axis}" if self.name else axis

    @cached_property
    def _positions(self) -> NDArray[np.intp] | None:
        """[axes, places], of a factor that is small enough for a table."""
        if self.size > _MOST_IN_TABLE:
            return None
        return np.stack(list(self._positions_of(np.arange(self.size)).values()))

    @cached_property
    def _places(self) -> Places | None:
        """The place at each combination of positions, of a factor that is small enough for a table."""
        offered = [len(axis.offered) for axis in self.axes]
        if math.prod(offered) > _MOST_IN_TABLE:
            return None
        every = np.unravel_index(np.arange(math.prod(offered)), offered)
        return self._places_of({axis.name: one for axis, one in zip(self.axes, every, strict=True)})

    @cached_property
    def _alternatives(self) -> tuple[_Alternative, ...]:
        branching = {name for axis in self.axes for name in axis.needs}
        found: list[_Alternative] = []
        first = 0
        for fixed, free in _expanded(self.axes, branching, {}, {}):
            found.append(_Alternative(fixed=fixed, free=free, first=first))
            first += found[-1].size
        return tuple(found)


def _expanded(
    axes: Sequence[Axis], branching: set[str], fixed: dict[str, Choice], free: dict[str, Any]
) -> Iterator[tuple[Choices, Mapping[str, tuple[Choice, ...]]]]:
    """Every combination of the axes on which others depend, with what is free under it."""
    if not axes:
        yield fixed, free
        return
    axis, rest = axes[0], axes[1:]
    if not axis.is_drawn(fixed):
        yield from _expanded(rest, branching, fixed, free)
    elif axis.name in branching:
        for choice in axis.offered:
            yield from _expanded(rest, branching, {**fixed, axis.name: choice}, free)
    else:
        yield from _expanded(rest, branching, fixed, {**free, axis.name: axis.offered})
