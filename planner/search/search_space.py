"""A study's space over its features: as many choices as there are, counted and drawn but never listed.

A candidate is a row of numbers, its code: for each factor (a group of features, or one choice of the whole model) the
place of what it chooses. Array suffixes: N candidates, G factors, X numbers that describe a candidate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.search.factors import Axis, Choice, Choices, Factor, Places
from planner.search.flat_axes import flat_axes
from planner.search.group_embeddings import FeatureGroup, feature_groups
from planner.study import ModelSection, SpaceSection
from profiles.errors import InputError
from representations.specs import Feature

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

__all__ = ["SearchSpace", "search_space"]


@dataclass(frozen=True, kw_only=True)
class SearchSpace:
    """All that candidates may choose; `groups` is empty where the whole model has one representation."""

    section: SpaceSection
    features: tuple[Feature, ...]
    dense_features: int
    model: ModelSection
    groups: tuple[FeatureGroup, ...]
    factors: tuple[Factor, ...]

    @cached_property
    def size(self) -> int:
        """How many different choices there are, which may be beyond any array."""
        return math.prod(factor.size for factor in self.factors)

    @cached_property
    def factor_sizes(self) -> NDArray[np.int64]:
        """How many choices each factor has."""
        return np.array([factor.size for factor in self.factors], dtype=np.int64)

    def all_codes(self) -> Places:
        """[size, G]: every candidate, the first factor's choice running fastest; for spaces that fit into memory."""
        rest, codes_NG = np.arange(self.size), np.empty((self.size, len(self.factors)), dtype=np.int64)
        for place, factor in enumerate(self.factors):
            rest, codes_NG[:, place] = np.divmod(rest, factor.size)
        return codes_NG

    def sample(self, count: int, rng: np.random.Generator) -> Places:
        """[count, G]: candidates drawn evenly from all of them, each as often as it comes up."""
        return rng.integers(0, self.factor_sizes, size=(count, len(self.factors)))

    def extremes(self) -> Places:
        """[E, G]: candidates whose numbers are all at their least or all at their greatest, every word among them."""
        corners = [factor.corners() for factor in self.factors]
        # Corners come in pairs of least and greatest, so that rows of even number hold the least of all.
        rows = range(max(map(len, corners)))
        return np.array([[one[row % len(one)] for one in corners] for row in rows], dtype=np.int64)

    def choices(self, code_G: Sequence[int] | Places) -> dict[str, Choice]:
        """The choices of one candidate, by name."""
        chosen: dict[str, Choice] = {}
        for factor, place in zip(self.factors, code_G, strict=True):
            chosen |= factor.choices(int(place))
        return chosen

    def code(self, choices: Choices) -> Places:
        """[G]: the code of a candidate's choices.

        Raises:
            InputError: a choice that is missing or not offered.
        """
        return np.array([factor.place(choices) for factor in self.factors], dtype=np.int64)

    def suggest(self, trial: "BaseTrial") -> dict[str, Choice]:
        """Choices drawn by the trial's sampler; what does not matter is not asked for."""
        chosen: dict[str, Choice] = {}
        for factor in self.factors:
            chosen |= factor.suggest(trial)
        return chosen


def search_space(
    section: SpaceSection, features: tuple[Feature, ...], dense_features: int, model: ModelSection
) -> SearchSpace:
    """The space of a study over these features.

    Raises:
        InputError: a group without features, or choices that make no model together.
        UnknownNameError: a group of features that are not there.
    """
    groups = feature_groups(section, features) if section.groups else ()
    interactions = section.interaction or (model.interaction,)
    if groups:
        embeddings = [group.factor for group in groups]
        if "dot" in interactions or any(_axis(group, "dim") is None for group in groups):
            embeddings.append(_single("dim", section.dim))
        _check_widths(section, groups, interactions)
    else:
        embeddings = [Factor(name="", axes=flat_axes(section))]
    # Without dense features there is no bottom MLP.
    others = {name: o for name, o in section.model_axes.items() if dense_features or not name.startswith("bottom")}
    return SearchSpace(
        section=section,
        features=features,
        dense_features=dense_features,
        model=model,
        groups=groups,
        factors=(*embeddings, *(_single(name, offered) for name, offered in others.items())),
    )


def _single(name: str, offered: tuple[Choice, ...]) -> Factor:
    return Factor(name="", axes=(Axis(name=name, offered=offered),))


def _axis(group: FeatureGroup, name: str) -> Axis | None:
    return next((axis for axis in group.factor.axes if axis.name == name), None)


def _check_widths(section: SpaceSection, groups: tuple[FeatureGroup, ...], interactions: Sequence[str]) -> None:
    for group in groups:
        own, kinds = _axis(group, "dim"), _axis(group, "representation")
        if own is not None and "dot" in interactions:
            raise InputError(
                f"search.space.groups: {group.factor.name!r} offers its own dim, but the dot interaction needs one "
                "width for all embeddings; leave it to search.space.dim, or offer the interaction 'concat' alone"
            )
        widths = section.dim if own is None else own.offered
        if kinds is not None and "hybrid" in kinds.offered and min(int(width) for width in widths) < 2:
            raise InputError(
                f"search.space.groups: {group.factor.name!r} offers hybrids, which need a dim >= 2, "
                f"but got {list(widths)}"
            )
