"""Spaces of one representation for the whole model: which choices there are, drawn by a sampler or enumerated."""

import math
import random
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from planner.search.factors import Choice, Choices
from planner.search.flat_axes import AXES
from planner.study import SpaceSection

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

__all__ = [
    "Choice",
    "Choices",
    "axes",
    "corner_choices",
    "enumerate_choices",
    "first_wishes",
    "space_size",
    "space_sizes",
    "suggest",
]


def axes(space: SpaceSection, representation: str) -> dict[str, tuple[int, ...]]:
    """The numbers that matter under `representation`, each with what is on offer."""
    return {name: getattr(space, name) for name in AXES[representation]}


def suggest(trial: "BaseTrial", space: SpaceSection) -> dict[str, Choice]:
    """Choices drawn by the trial's sampler; what does not matter is not asked for (a table has no `dhe_k`)."""
    representation = trial.suggest_categorical("representation", space.representation)
    choices: dict[str, Choice] = {"representation": representation}
    for name, offered in axes(space, representation).items():
        choices[name] = trial.suggest_categorical(name, offered)
    return choices


def space_size(space: SpaceSection) -> int:
    """How many different choices there are."""
    return sum(space_sizes(space))


def enumerate_choices(space: SpaceSection, most: int | None = None, seed: int = 0) -> tuple[dict[str, Choice], ...]:
    """All choices in a fixed order or, where there are more than `most`, a sample of `most` without repetition."""
    size = space_size(space)
    if most is None or size <= most:
        return tuple(_choices_at(space, index) for index in range(size))
    return tuple(_choices_at(space, index) for index in sorted(random.Random(seed).sample(range(size), most)))


def corner_choices(space: SpaceSection) -> Iterator[dict[str, Choice]]:
    """The choices with every number at its least or its greatest: the cheapest and the dearest are among them."""
    for representation in space.representation:
        ends = {name: sorted({min(offered), max(offered)}) for name, offered in axes(space, representation).items()}
        for numbers in product(*ends.values()):
            yield {"representation": representation, **dict(zip(ends, numbers, strict=True))}


def first_wishes(space: SpaceSection) -> Iterator[dict[str, Choice]]:
    """One choice per representation to begin with: dims spread from the least to the greatest, else the middle."""
    last = max(len(space.representation) - 1, 1)
    for position, representation in enumerate(space.representation):
        numbers = {name: _between(offered, 0.5) for name, offered in axes(space, representation).items()}
        yield {"representation": representation, **numbers, "dim": _between(space.dim, position / last)}


def space_sizes(space: SpaceSection) -> list[int]:
    """How many choices each of the representations has."""
    return [math.prod(map(len, axes(space, representation).values())) for representation in space.representation]


def _choices_at(space: SpaceSection, index: int) -> dict[str, Choice]:
    for representation, size in zip(space.representation, space_sizes(space), strict=True):
        if index < size:
            choices: dict[str, Choice] = {"representation": representation}
            for name, offered in axes(space, representation).items():
                index, position = divmod(index, len(offered))
                choices[name] = offered[position]
            return choices
        index -= size
    raise IndexError(index)


def _between(offered: tuple[int, ...], share: float) -> int:
    return sorted(offered)[round(share * (len(offered) - 1))]
