"""What is thought of accuracy before anything is trained: nothing but that more capacity may help.

Array suffixes: N candidates, F features.
"""

from itertools import pairwise

import numpy as np

from planner.cost_model.candidates import Candidates
from planner.search.accuracy_model import Floats
from representations.specs import MixedDimensionSpec

__all__ = ["prior_capacity"]


def prior_capacity(candidates: Candidates) -> Floats:
    """[N]: bits of a candidate's capacity, to be compared and no more.

    Of each feature the base-2 logarithm of its embedding's bytes, of which more than a table as wide holds count not at
    all, and of the dense layers that of their weights: doubling anything is worth the same, and a representation that
    is larger than the table that it stands for is worth no more.
    """
    features = candidates.features
    total_N = np.zeros(len(candidates))
    for place, feature in enumerate(features):
        chosen_N = candidates.embedding_NF[:, place]
        bits_E = np.zeros(len(candidates.embeddings))
        for i in np.flatnonzero(np.bincount(chosen_N)).tolist():
            spec = candidates.embeddings[i]
            width = spec.inner_dim if isinstance(spec, MixedDimensionSpec) else spec.width
            whole_bytes = 4 * feature.cardinality * width
            bits_E[i] = np.log2(1 + min(spec.parameter_bytes(feature), whole_bytes)) + np.log2(width)
        total_N += bits_E[chosen_N]
    weights_D = np.array([_weights(dense.bottom_mlp) + _weights(dense.top_mlp) for dense in candidates.dense])
    return total_N + np.log2(1 + weights_D)[candidates.dense_N]


def _weights(widths: tuple[int, ...]) -> float:
    """Of the layers after the first, whose inputs depend on the embeddings, and of the first its outputs."""
    return float(sum(a * b for a, b in pairwise(widths)) + sum(widths))
