"""The nearest of N directions by dot product: as a matrix product, and by faiss where it is installed.

Shape suffixes: N queries, C centroids, K floats of an encoding.
"""

import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from statistics import median

import torch
from torch import Tensor

__all__ = ["Search", "fastest_search", "searches"]

Search = Callable[[Tensor], Tensor]
_ROUNDS = 5


def searches(centroids_CK: Tensor) -> dict[str, Search]:
    """From queries [N, K] to the place of the centroid with the greatest dot product [N], by name."""
    found: dict[str, Search] = {"product": lambda queries_NK: (queries_NK @ centroids_CK.t()).argmax(dim=1)}
    if centroids_CK.device.type == "cpu" and find_spec("faiss") is not None:
        found["faiss"] = _faiss(centroids_CK)
    return found


def fastest_search(
    candidates: Mapping[str, Search], queries_NK: Tensor, *, clock: Callable[[], float] = time.perf_counter
) -> str:
    """The name of the search that took the least median time over a few rounds, in which they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for search in candidates.values():
        search(queries_NK)
    for _ in range(_ROUNDS):
        for name, search in candidates.items():
            start = clock()
            search(queries_NK)
            seconds[name].append(clock() - start)
    return min(seconds, key=lambda name: median(seconds[name]))


def _faiss(centroids_CK: Tensor) -> Search:
    import faiss

    index = faiss.IndexFlatIP(centroids_CK.shape[1])
    index.add(centroids_CK.detach().numpy())

    def search(queries_NK: Tensor) -> Tensor:
        faiss.omp_set_num_threads(torch.get_num_threads())
        _, places_N1 = index.search(queries_NK.detach().contiguous().numpy(), 1)
        return torch.from_numpy(places_N1[:, 0])

    return search
