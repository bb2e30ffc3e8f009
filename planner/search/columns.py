"""A search space as columns, so that all of it can be priced at once.

Suffixes: N candidates, F features.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from planner.cost_model.candidates import Candidates, DenseSpec, Index
from planner.search.candidate import build_candidate
from planner.search.space import axes, space_sizes
from planner.study import ModelSection, SpaceSection
from profiles.errors import InputError
from representations.specs import DheSpec, EmbeddingSpec, Feature, HybridSpec, ModelSpec

__all__ = ["space_columns"]

_DHE_AXES = ("dhe_k", "dhe_width", "dhe_depth")


def space_columns(
    space: SpaceSection, indices_N: Index, features: tuple[Feature, ...], dense_features: int, model: ModelSection
) -> Candidates:
    """The candidates at these places of `enumerate_choices`' order, one column entry each and no loop over them.

    Raises:
        InputError: a place beyond the space.
    """
    sizes = space_sizes(space)
    if len(indices_N) and not (indices_N.min() >= 0 and indices_N.max() < sum(sizes)):
        raise InputError(f"search space: places must be in 0 to {sum(sizes) - 1}")
    columns = _Columns(embeddings={}, dense={}, features=features, dense_features=dense_features, model=model)
    embedding_NF = np.empty((len(indices_N), len(features)), dtype=np.intp)
    dense_N = np.empty(len(indices_N), dtype=np.intp)
    first = 0
    for representation, size in zip(space.representation, sizes, strict=True):
        rows = np.flatnonzero((indices_N >= first) & (indices_N < first + size))
        if len(rows):
            chosen = _positions(axes(space, representation), indices_N[rows] - first)
            embedding_NF[rows], dense_N[rows] = columns.fill(representation, axes(space, representation), chosen)
        first += size
    return Candidates(
        features=features,
        dense_features=dense_features,
        embeddings=tuple(columns.embeddings),
        dense=tuple(columns.dense),
        embedding_NF=embedding_NF,
        dense_N=dense_N,
    )


def _positions(offered: Mapping[str, tuple[int, ...]], index_N: Index) -> dict[str, Index]:
    """Which of its values each axis takes."""
    positions: dict[str, Index] = {}
    for name, values in offered.items():
        index_N, positions[name] = np.divmod(index_N, len(values))
    return positions


@dataclass(kw_only=True, slots=True, eq=False)
class _Columns:
    """The embeddings and dense parts met so far, each with its place."""

    embeddings: dict[EmbeddingSpec, int]
    dense: dict[DenseSpec, int]
    features: tuple[Feature, ...]
    dense_features: int
    model: ModelSection

    def fill(
        self, representation: str, offered: Mapping[str, tuple[int, ...]], positions: Mapping[str, Index]
    ) -> tuple[Index, Index]:
        """Which embedding each candidate's features get, and which dense part.

        What gets a DHE does not depend on what the DHE is like: one model tells it for all sizes of the DHE.
        """
        dhe_axes = [name for name in offered if name in _DHE_AXES]
        others = [name for name in offered if name not in _DHE_AXES]
        sizes = tuple(dict(zip(dhe_axes, values, strict=True)) for values in product(*(offered[n] for n in dhe_axes)))
        firsts, has_dhe, dense = [], [], []
        for values in product(*(offered[name] for name in others)):
            chosen = dict(zip(others, values, strict=True))
            given: dict[str, Any] = {"representation": representation, **chosen, **sizes[0]}
            spec = build_candidate(given, self.features, self.dense_features, self.model)
            firsts.append([self._place(embedding, sizes) for embedding in spec.embeddings])
            has_dhe.append([isinstance(embedding, DheSpec | HybridSpec) for embedding in spec.embeddings])
            dense.append(self.dense.setdefault(_dense(spec), len(self.dense)))
        which_N = _combined([positions[name] for name in others], [len(offered[name]) for name in others])
        size_N = _combined([positions[name] for name in dhe_axes], [len(offered[name]) for name in dhe_axes])
        return np.array(firsts)[which_N] + np.array(has_dhe)[which_N] * size_N[:, None], np.array(dense)[which_N]

    def _place(self, embedding: EmbeddingSpec, sizes: tuple[Mapping[str, int], ...]) -> int:
        """The place of the embedding, that of the first size where it has a DHE; those of the others follow."""
        if isinstance(embedding, DheSpec | HybridSpec):
            alike = [_sized(embedding, size) for size in sizes]
        else:
            alike = [embedding]
        if alike[0] not in self.embeddings:
            self.embeddings |= {one: len(self.embeddings) + i for i, one in enumerate(alike)}
        return self.embeddings[alike[0]]


def _sized(embedding: DheSpec | HybridSpec, size: Mapping[str, int]) -> EmbeddingSpec:
    if isinstance(embedding, HybridSpec):
        return replace(embedding, dhe=_sized_dhe(embedding.dhe, size))
    return _sized_dhe(embedding, size)


def _sized_dhe(embedding: DheSpec, size: Mapping[str, int]) -> DheSpec:
    return replace(embedding, k=size["dhe_k"], widths=(size["dhe_width"],) * size["dhe_depth"])


def _dense(spec: ModelSpec) -> DenseSpec:
    return DenseSpec(
        bottom_mlp=spec.bottom_mlp, top_mlp=spec.top_mlp, interaction=spec.interaction, deep_mlp=spec.deep_mlp
    )


def _combined(positions: list[Index], lengths: list[int]) -> Index:
    """Places in the product of the axes, the last of which runs fastest."""
    return np.ravel_multi_index(tuple(positions), tuple(lengths)) if positions else np.zeros(1, dtype=np.intp)
