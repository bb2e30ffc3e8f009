from itertools import count

import numpy as np
import pytest
import torch
from torch import Tensor

from representations.mp_cache.clusters import sklearn_labels, weighted_centroids
from representations.mp_cache.nearest import Search, fastest_search, searches


def test_every_search_finds_the_same() -> None:
    generator = torch.Generator().manual_seed(0)
    centroids, queries = torch.randn(9, 16, generator=generator), torch.randn(50, 16, generator=generator)
    found = searches(centroids)
    assert set(found) <= {"product", "faiss"}
    for search in found.values():
        assert torch.equal(search(queries), (queries @ centroids.t()).argmax(dim=1))


@pytest.mark.parametrize("slow", ["one", "other"])
def test_the_faster_search_is_chosen(slow: str) -> None:
    ticks = count()

    def search(steps: int) -> Search:
        def of(queries: Tensor) -> Tensor:
            for _ in range(steps):
                next(ticks)
            return queries

        return of

    candidates = {name: search(5 if name == slow else 1) for name in ("one", "other")}
    assert fastest_search(candidates, torch.ones(1), clock=lambda: float(next(ticks))) != slow


def test_both_kinds_of_k_means_find_plain_clusters() -> None:
    rng = np.random.default_rng(0)
    corners = np.eye(8, dtype=np.float32)[rng.permutation(np.repeat(np.arange(3), 20))]
    noisy = (corners + rng.normal(0, 0.01, corners.shape)).astype(np.float32)
    weights = np.ones(60, dtype=np.float32)
    centroids = weighted_centroids(noisy, weights, 3)
    assert sorted(centroids.argmax(axis=1).tolist()) == [0, 1, 2]
    labels = sklearn_labels(noisy, weights, 3, 0)
    assert len({(label, corner) for label, corner in zip(labels, corners.argmax(axis=1), strict=True)}) == 3
