"""Memory of very many candidates at once: what each part of a model takes at most is found once, and gathered.

Array suffixes: N candidates, F features, E embeddings.
"""

import numpy as np

from planner.cost_model.candidates import Candidates
from planner.cost_model.estimates import Floats
from planner.cost_model.memory import DenseMemory, dense_memory, embedding_peak_bytes
from representations.specs import BYTES_PER_FLOAT, EmbeddingSpec, Feature

__all__ = ["CandidateMemory"]


class CandidateMemory:
    """Activations at one batch, equal to `forward_memory`'s; parts that were met once are kept."""

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._embeddings: dict[tuple[Feature, EmbeddingSpec], int] = {}
        self._dense: dict[tuple[object, int], DenseMemory] = {}

    def activation_bytes(self, candidates: Candidates) -> Floats:
        """[N]: the most that activations take in one forward pass without gradients."""
        bottom_N, ids_N, bottom_peak_N, after_N = self._dense_columns(candidates)
        widths_E = np.array([spec.width for spec in candidates.embeddings], dtype=np.float64)
        held_N, peak_N = bottom_N + ids_N, bottom_peak_N.copy()
        for place, feature in enumerate(candidates.features):
            chosen_N = candidates.embedding_NF[:, place]
            np.maximum(peak_N, held_N + self._peaks(candidates, feature, place)[chosen_N], out=peak_N)
            held_N = held_N + widths_E[chosen_N] * (self._batch * BYTES_PER_FLOAT)
        most_N: Floats = np.maximum(peak_N, held_N - ids_N + after_N)
        return most_N

    def _peaks(self, candidates: Candidates, feature: Feature, place: int) -> Floats:
        """[E]: what each embedding takes for itself while it runs; 0 for those that no candidate gives this feature."""
        peaks_E = np.zeros(len(candidates.embeddings))
        for i in np.flatnonzero(np.bincount(candidates.embedding_NF[:, place])).tolist():
            key = (feature, candidates.embeddings[i])
            if key not in self._embeddings:
                self._embeddings[key] = embedding_peak_bytes(*key, self._batch)
            peaks_E[i] = self._embeddings[key]
        return peaks_E

    def _dense_columns(self, candidates: Candidates) -> tuple[Floats, Floats, Floats, Floats]:
        span = int(candidates.widths_N.max(initial=0)) + 1
        key_N = candidates.dense_N * span + candidates.widths_N
        keys_U, first_U, which_N = np.unique(key_N, return_index=True, return_inverse=True)
        found = []
        for key, place in zip(keys_U.tolist(), first_U.tolist(), strict=True):
            known = (candidates.dense[key // span], key % span)
            if known not in self._dense:
                self._dense[known] = dense_memory(candidates.model(place, name="candidate"), self._batch)
            one = self._dense[known]
            found.append((one.bottom_bytes, one.ids_bytes, one.bottom_peak_bytes, one.after_peak_bytes))
        columns = np.array(found, dtype=np.float64).reshape(-1, 4)[which_N.reshape(-1)]
        return columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3]
