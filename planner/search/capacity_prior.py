"""What is thought of accuracy before anything is trained: nothing but that more capacity may help.

Array suffixes: N candidates, E embeddings, D dense parts.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from planner.cost_model.candidates import Candidates
from planner.search.accuracy_model import Floats
from representations.specs import BYTES_PER_FLOAT, EmbeddingSpec, Feature, MixedDimensionSpec

__all__ = ["CapacityPrior"]


@dataclass(kw_only=True, slots=True, eq=False)
class CapacityPrior:
    """Bits of a candidate's capacity, to be compared and no more; embeddings that were met are kept.

    Of each feature the base-2 logarithm of its embedding's bytes, of which more than a table as wide holds count not at
    all, and of the dense layers that of their weights: doubling anything is worth the same, and a representation that
    is larger than the table that it stands for is worth no more.
    """

    _bits: dict[Feature, dict[EmbeddingSpec, float]] = field(default_factory=dict)

    def __call__(self, candidates: Candidates) -> Floats:
        """[N]: the bits of each."""
        total_N = np.zeros(len(candidates))
        for place, feature in enumerate(candidates.features):
            chosen_N = candidates.embedding_NF[:, place]
            bits_E = np.zeros(len(candidates.embeddings))
            known = self._bits.setdefault(feature, {})
            for i in np.flatnonzero(np.bincount(chosen_N)).tolist():
                spec = candidates.embeddings[i]
                if (bits := known.get(spec)) is None:
                    bits = known[spec] = _bits(feature, spec)
                bits_E[i] = bits
            total_N += bits_E[chosen_N]
        weights_D = np.array([_weights(dense.bottom_mlp) + _weights(dense.top_mlp) for dense in candidates.dense])
        bits_N: Floats = total_N + np.log2(1 + weights_D)[candidates.dense_N]
        return bits_N


def _bits(feature: Feature, spec: EmbeddingSpec) -> float:
    width = spec.inner_dim if isinstance(spec, MixedDimensionSpec) else spec.width
    whole_bytes = BYTES_PER_FLOAT * feature.cardinality * width
    return math.log2(1 + min(spec.parameter_bytes(feature), whole_bytes)) + math.log2(width)


def _weights(widths: tuple[int, ...]) -> float:
    """Of the layers after the first, whose inputs depend on the embeddings, and of the first its outputs."""
    return float(sum(a * b for a, b in pairwise(widths)) + sum(widths))
