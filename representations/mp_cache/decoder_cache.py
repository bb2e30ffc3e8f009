"""The decoder cache: N centroids of encodings to their decoded embeddings; the nearest stands for an id's own.

Not exact, and hashes are why: encodings of different ids are nearly orthogonal, so that the nearest centroid of an id
is its own only where the id has a centroid to itself (docs/benchmarks/mp_cache.md has what it costs).
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from representations.dhe.embedding import DheEmbedding
from representations.mp_cache.cached_stack import CachedStack
from representations.mp_cache.clusters import weighted_centroids
from representations.mp_cache.nearest import Search, fastest_search, searches
from representations.mp_cache.policies import Ids, check_entries, check_log

__all__ = ["DecoderCache", "centroids_of_log"]


class DecoderCache(CachedStack):
    """The encoder runs for every id; the decoder only ran for the centroids `centroids_CK`, part of the state.

    `search` names how the nearest centroid is found (`product`, `faiss`); None takes the faster on the first call that
    brings ids.
    """

    centroids_CK: Tensor
    rows_CD: Tensor

    def __init__(self, stack: DheEmbedding, centroids_CK: Tensor, *, search: str | None = None) -> None:
        super().__init__(stack)
        check_entries(len(centroids_CK))
        self.search = search
        self.register_buffer("centroids_CK", centroids_CK.clone())
        self.register_buffer("rows_CD", torch.zeros(len(centroids_CK), self.dim))
        self._searches: dict[str, Search] = {}

    def refresh(self) -> None:
        """One pass of the decoder over the centroids."""
        self.rows_CD.copy_(self.exact.decoder(self.centroids_CK))
        self._searches = searches(functional.normalize(self.centroids_CK))

    def cached_rows(self, ids_N: Tensor) -> Tensor:
        """The nearest centroid's embedding. The length of a query does not move its nearest direction."""
        encoded_NK = self.exact.encoder(ids_N)
        if self.search is None and len(ids_N):
            self.search = fastest_search(self._searches, encoded_NK)
        nearest_N = self._searches[self.search or "product"](encoded_NK)
        return self.nan_outside(functional.embedding(nearest_N, self.rows_CD), ids_N)

    def extra_repr(self) -> str:
        """What a printed model shows."""
        return f"centroids={len(self.centroids_CK)}, search={self.search!r}"


@torch.no_grad()
def centroids_of_log(
    stack: DheEmbedding, log_N: Ids, count: int, *, seed: int = 0, maximum_ids: int = 20_000
) -> Tensor:
    """The centroids [C, K] of the encodings of a log's hottest ids, weighted by their accesses.

    Raises:
        InputError: no centroid is asked for, the log is empty or holds no integers, or an id is beyond the range.
    """
    check_entries(count)
    check_log(log_N)
    ids, counts = np.unique(log_N, return_counts=True)
    hottest = np.argsort(-counts, kind="stable")[:maximum_ids]
    device = stack.encoder.a_K.device
    encodings_UK = stack.encoder(torch.from_numpy(ids[hottest].astype(np.int64)).to(device)).cpu().numpy()
    centroids_CK = weighted_centroids(encodings_UK, counts[hottest].astype(np.float32), count, seed)
    return torch.from_numpy(centroids_CK).to(device)
