"""Candidates as numbers that a model of accuracy can learn from.

Array suffixes: N candidates, G factors, F features, X numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from planner.cost_model.candidates import Candidates
from planner.search.accuracy_model import Floats
from planner.search.factors import Axis, Factor, Places
from planner.search.search_space import SearchSpace
from planner.search.space_columns import SpaceColumns
from representations.specs import EmbeddingSpec, Feature

__all__ = ["SpaceFeatures"]

# Choices of where a candidate runs say nothing of what it learns.
_NOT_LEARNT = ("device", "batch")


@dataclass(kw_only=True, slots=True, eq=False)
class SpaceFeatures:
    """Describes candidates by their choices and by how much each feature's embedding holds.

    A number is its base-2 logarithm, 0 where it plays no part; a word is 1 for the one chosen and 0 for the others.
    Capacity is the base-2 logarithm of the bytes of a feature's own embedding.
    """

    space: SearchSpace
    _bytes: dict[tuple[int, EmbeddingSpec], float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """What each column is."""
        choices = [name for factor in self._factors for axis in factor.axes for name in _columns(factor, axis)]
        return (*choices, *(f"capacity[{feature.name}]" for feature in self.space.features))

    def __call__(self, columns: SpaceColumns) -> Floats:
        """[N, X]: the numbers of the candidates."""
        found = list(self._choices(columns.codes_NG))
        for place, feature in enumerate(self.space.features):
            found.append(self._capacity(place, feature, columns.candidates))
        return np.stack(found, axis=1)

    @property
    def _factors(self) -> list[Factor]:
        return [factor for factor in self.space.factors if factor.axes[0].name not in _NOT_LEARNT]

    def _choices(self, codes_NG: Places) -> Iterator[Floats]:
        for place, factor in enumerate(self.space.factors):
            if factor.axes[0].name in _NOT_LEARNT:
                continue
            positions = factor.positions(codes_NG[:, place])
            for axis in factor.axes:
                chosen_N = positions[axis.name]
                if _is_text(axis):
                    yield from ((chosen_N == i).astype(np.float64) for i in range(len(axis.offered)))
                else:
                    # The last entry is for position -1: not drawn.
                    logs = np.array([*np.log2(np.array(axis.offered, dtype=np.float64)), 0.0])
                    yield logs[chosen_N]

    def _capacity(self, place: int, feature: Feature, candidates: Candidates) -> Floats:
        chosen_N = candidates.embedding_NF[:, place]
        logs_E = np.zeros(len(candidates.embeddings))
        for i in np.flatnonzero(np.bincount(chosen_N)).tolist():
            spec = candidates.embeddings[i]
            if (place, spec) not in self._bytes:
                self._bytes[place, spec] = float(np.log2(1 + spec.parameter_bytes(feature)))
            logs_E[i] = self._bytes[place, spec]
        capacity_N: Floats = logs_E[chosen_N]
        return capacity_N


def _is_text(axis: Axis) -> bool:
    return isinstance(axis.offered[0], str)


def _columns(factor: Factor, axis: Axis) -> list[str]:
    name = factor.full(axis.name)
    return [f"{name}={choice}" for choice in axis.offered] if _is_text(axis) else [f"log2 {name}"]
