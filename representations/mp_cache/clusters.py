"""Centroids of the encodings of a log's ids, weighted by how often each is accessed.

Shape suffixes: U distinct ids, C centroids, K floats of an encoding.
"""

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

__all__ = ["weighted_centroids"]

_ITERATIONS = 15
Floats = NDArray[np.float32]


def weighted_centroids(encodings_UK: Floats, weights_U: Floats, count: int, seed: int = 0) -> Floats:
    """k-means by cosine similarity, [C, K] with C = min(count, U): by faiss where installed, else by scikit-learn.

    Each centroid is the weighted mean of the encodings nearest to it, not normalised: what a decoder can take.
    """
    if count >= len(encodings_UK):
        return encodings_UK.copy()
    directions_UK = encodings_UK / np.linalg.norm(encodings_UK, axis=1, keepdims=True)
    labels_U = (_faiss_labels if find_spec("faiss") else sklearn_labels)(directions_UK, weights_U, count, seed)
    sums_CK = np.zeros((count, encodings_UK.shape[1]), dtype=np.float64)
    np.add.at(sums_CK, labels_U, encodings_UK * weights_U[:, None])
    total_C = np.bincount(labels_U, weights=weights_U, minlength=count)
    used_C = total_C > 0
    centroids: Floats = (sums_CK[used_C] / total_C[used_C, None]).astype(np.float32)
    return centroids


def _faiss_labels(directions_UK: Floats, weights_U: Floats, count: int, seed: int) -> NDArray[np.int64]:
    import faiss

    kmeans = faiss.Kmeans(
        directions_UK.shape[1],
        count,
        niter=_ITERATIONS,
        spherical=True,
        seed=seed + 1,
        min_points_per_centroid=1,
        max_points_per_centroid=len(directions_UK),
    )
    kmeans.train(directions_UK, weights=weights_U)
    _, labels_U1 = kmeans.index.search(directions_UK, 1)
    labels: NDArray[np.int64] = labels_U1[:, 0]
    return labels


def sklearn_labels(directions_UK: Floats, weights_U: Floats, count: int, seed: int) -> NDArray[np.int64]:
    """The cluster of each direction: for directions, least squares and greatest dot product agree nearly."""
    from sklearn.cluster import KMeans

    kmeans = KMeans(count, n_init=1, max_iter=_ITERATIONS, random_state=seed, tol=0.0)
    labels: NDArray[np.int64] = kmeans.fit_predict(directions_UK, sample_weight=weights_U).astype(np.int64)
    return labels
