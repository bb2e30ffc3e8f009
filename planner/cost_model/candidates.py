"""Many models of one set of features as columns of choices, instead of one object each.

Array suffixes: N candidates, F features.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from representations.specs import EmbeddingSpec, Feature, Interaction, ModelSpec

__all__ = ["Candidates", "DenseSpec", "Index", "candidates_of"]

Index = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, slots=True)
class DenseSpec:
    """What of a model is no embedding."""

    bottom_mlp: tuple[int, ...]
    top_mlp: tuple[int, ...]
    interaction: Interaction = "dot"
    deep_mlp: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Candidates:
    """N models: candidate n embeds feature f by `embeddings[embedding_NF[n, f]]`, within `dense[dense_N[n]]`.

    Raises:
        InputError: an index that points nowhere, or columns of unequal length.
    """

    features: tuple[Feature, ...]
    dense_features: int
    embeddings: tuple[EmbeddingSpec, ...]
    dense: tuple[DenseSpec, ...]
    embedding_NF: Index
    dense_N: Index
    widths_N: Index = field(init=False)

    def __post_init__(self) -> None:
        if self.embedding_NF.shape != (len(self.dense_N), len(self.features)):
            raise InputError(
                f"candidates: embedding_NF must have shape {(len(self.dense_N), len(self.features))}, "
                f"but has {self.embedding_NF.shape}"
            )
        for name, index, offered in (
            ("embedding_NF", self.embedding_NF, len(self.embeddings)),
            ("dense_N", self.dense_N, len(self.dense)),
        ):
            if index.size and not (index.min() >= 0 and index.max() < offered):
                raise InputError(f"candidates: {name} must be in 0 to {offered - 1}")
        widths = np.array([embedding.width for embedding in self.embeddings], dtype=np.intp)
        total_N, misfits_N = np.zeros(len(self), dtype=np.intp), np.zeros(len(self), dtype=np.bool_)
        wanted_N = self._dot_widths(widths)
        for column_N in self.embedding_NF.T:
            width_N = widths[column_N]
            total_N += width_N
            misfits_N |= (wanted_N > 0) & (width_N != wanted_N)
        object.__setattr__(self, "widths_N", total_N)
        if misfits_N.any():
            self.model(int(misfits_N.argmax()))

    def _dot_widths(self, widths: Index) -> Index:
        """[N]: the width that each candidate's interaction needs of every embedding, 0 where any will do."""
        ends = [one.bottom_mlp[-1] if one.bottom_mlp else 0 for one in self.dense]
        is_dot = np.array([one.interaction == "dot" for one in self.dense], dtype=np.bool_)
        first_N = widths[self.embedding_NF[:, 0]]
        wanted_N = np.array(ends, dtype=np.intp)[self.dense_N] if self.dense_features else first_N
        return np.where(is_dot[self.dense_N], wanted_N, 0)

    def __len__(self) -> int:
        return len(self.dense_N)

    def model(self, place: int, name: str = "") -> ModelSpec:
        """One of the candidates as a spec.

        Raises:
            InputError: its choices make no model (unequal widths under the dot interaction).
        """
        dense = self.dense[self.dense_N[place]]
        return ModelSpec(
            name=name or f"candidate-{place}",
            dense_features=self.dense_features,
            features=self.features,
            embeddings=tuple(self.embeddings[i] for i in self.embedding_NF[place].tolist()),
            bottom_mlp=dense.bottom_mlp,
            top_mlp=dense.top_mlp,
            interaction=dense.interaction,
            deep_mlp=dense.deep_mlp,
        )


def candidates_of(specs: Sequence[ModelSpec]) -> Candidates:
    """Specs of equal features as columns; a loop over the specs, which a caller with many of them should not have.

    Raises:
        InputError: no spec, or specs of different features.
    """
    if not specs:
        raise InputError("candidates: needs at least one model")
    features, dense_features = specs[0].features, specs[0].dense_features
    embeddings: dict[EmbeddingSpec, int] = {}
    dense: dict[DenseSpec, int] = {}
    embedding_NF = np.empty((len(specs), len(features)), dtype=np.intp)
    dense_N = np.empty(len(specs), dtype=np.intp)
    for n, spec in enumerate(specs):
        if (spec.features, spec.dense_features) != (features, dense_features):
            raise InputError(f"candidates: {spec.name!r} has other features than {specs[0].name!r}")
        embedding_NF[n] = [embeddings.setdefault(one, len(embeddings)) for one in spec.embeddings]
        part = DenseSpec(
            bottom_mlp=spec.bottom_mlp, top_mlp=spec.top_mlp, interaction=spec.interaction, deep_mlp=spec.deep_mlp
        )
        dense_N[n] = dense.setdefault(part, len(dense))
    return Candidates(
        features=features,
        dense_features=dense_features,
        embeddings=tuple(embeddings),
        dense=tuple(dense),
        embedding_NF=embedding_NF,
        dense_N=dense_N,
    )
