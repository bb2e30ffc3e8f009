"""Candidates as rows of numbers from which accuracy can be learned: what represents the features, and how large it is.

Suffixes: N candidates, F features, E embeddings, D dense parts, X columns.
"""

import math

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.candidates import Candidates, DenseSpec
from representations.specs import DheSpec, EmbeddingSpec, Feature, HybridSpec

__all__ = ["FEATURE_NAMES", "accuracy_features"]

Floats = NDArray[np.float64]

_KINDS = ("table", "dhe", "hybrid", "quotient-remainder", "mixed-dimension", "tensor-train", "robe", "reduced-table")
_SIZES = ("log2 width", "log2 bytes", "log2 DHE k", "log2 DHE weights")
_OF_AN_EMBEDDING = (*_KINDS, *_SIZES)
_OF_DENSE_PARTS = ("log2 bottom widths", "bottom layers", "log2 top widths", "top layers", "dot interaction")
# Each description of an embedding twice: its mean over the features, and over their rows, where large tables speak.
FEATURE_NAMES = (
    *(f"{name}, mean over features" for name in _OF_AN_EMBEDDING),
    *(f"{name}, mean over rows" for name in _OF_AN_EMBEDDING),
    *_OF_DENSE_PARTS,
)


def accuracy_features(candidates: Candidates) -> Floats:
    """[N, X]: a row per candidate, its columns as `FEATURE_NAMES`; each distinct part is looked at once."""
    features = candidates.features
    rows_F = np.array([feature.cardinality for feature in features], dtype=np.float64)
    evenly_F, by_rows_F = np.full(len(features), 1 / len(features)), rows_F / rows_F.sum()
    means = np.zeros((len(candidates), 2, len(_OF_AN_EMBEDDING)))
    for place in range(len(features)):
        chosen_NX = _described_by(candidates, place)[candidates.embedding_NF[:, place]]
        means[:, 0] += evenly_F[place] * chosen_NX
        means[:, 1] += by_rows_F[place] * chosen_NX
    dense_DX = np.array([_described_dense(dense) for dense in candidates.dense])
    return np.concatenate((means.reshape(len(candidates), -1), dense_DX[candidates.dense_N]), axis=1)


def _described_by(candidates: Candidates, place: int) -> Floats:
    """[E, X]: each embedding for the feature at this place, zeros for those that no candidate gives it."""
    feature, described_EX = candidates.features[place], np.zeros((len(candidates.embeddings), len(_OF_AN_EMBEDDING)))
    for i in np.flatnonzero(np.bincount(candidates.embedding_NF[:, place])).tolist():
        described_EX[i] = _described(candidates.embeddings[i], feature)
    return described_EX


def _described(embedding: EmbeddingSpec, feature: Feature) -> list[float]:
    dhe = embedding.dhe if isinstance(embedding, HybridSpec) else embedding
    k, weights = (dhe.k, sum(a * b for a, b in dhe.layers)) if isinstance(dhe, DheSpec) else (0, 0)
    kinds = [float(embedding.kind == kind) for kind in _KINDS]
    return [*kinds, *map(_log2, (embedding.width, embedding.parameter_bytes(feature), k, weights))]


def _described_dense(dense: DenseSpec) -> list[float]:
    bottom, top = dense.bottom_mlp, (*dense.top_mlp, *dense.deep_mlp)
    return [
        _log2(sum(bottom)),
        float(len(bottom)),
        _log2(sum(top)),
        float(len(top)),
        float(dense.interaction == "dot"),
    ]


def _log2(value: float) -> float:
    """0 for what is not there."""
    return math.log2(1 + value)
