"""Zipf's law over `rows` ids: the id of rank r is drawn with probability proportional to r ** -exponent.

An exponent of 0 is the uniform distribution.
"""

import math

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError

__all__ = [
    "expected_distinct",
    "exponent_of_distinct",
    "fit_exponent",
    "fit_log_exponent",
    "sample_ids",
    "sample_ranks",
]

_GOLDEN = (math.sqrt(5) - 1) / 2
_QUADRATURE_POINTS = 256
_EXPONENTS = tuple(i / 10 for i in range(31))
_STEEPEST = 3.0
_BISECTIONS = 30
_WINDOWS = (512, 4096, 32768)
_WINDOWS_EACH = 20
_FEWEST_WINDOWS = 8

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


def sample_ranks(rng: np.random.Generator, rows: int, exponent: float, size: int) -> Ids:
    """`size` ranks in [1, rows]: rejection-inversion (Hörmann and Derflinger, 1996), exact for any exponent >= 0."""
    _check(rows, exponent)
    if exponent == 0:
        return rng.integers(1, rows + 1, size)
    first = _integral(np.array(1.5), exponent) - 1.0
    last = _integral(np.array(rows + 0.5), exponent)
    ranks = np.empty(size, dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        height = last + rng.random(pending.size) * (first - last)
        rank = np.clip(np.rint(_inverse_integral(height, exponent)), 1, rows)
        accepted = height >= _integral(rank + 0.5, exponent) - rank**-exponent
        ranks[pending[accepted]] = rank[accepted].astype(np.int64)
        pending = pending[~accepted]
    return ranks


def sample_ids(rng: np.random.Generator, rows: int, exponent: float, size: int) -> Ids:
    """`size` ids in [0, rows), the frequent ones scattered over the table rather than side by side."""
    ranks = sample_ranks(rng, rows, exponent, size)
    stride = max(1, round(rows * _GOLDEN))
    while math.gcd(stride, rows) != 1:
        stride += 1
    return (ranks - 1) * stride % rows


def expected_distinct(rows: int, exponent: float, draws: float) -> float:
    """How many different ids `draws` draws touch on average: sum over ids of 1 - (1 - p) ** draws."""
    _check(rows, exponent)
    ranks, widths = _rank_blocks(rows)
    weights = ranks**-exponent
    probability = weights / np.sum(weights * widths)
    missed = np.exp(draws * np.log1p(-np.minimum(probability, 1 - 1e-15)))
    return float(np.sum((1 - missed) * widths))


def fit_exponent(counts: NDArray[np.int64]) -> float:
    """The most likely exponent, to one decimal and at most 3, for ids counted `counts` times."""
    ordered = np.sort(counts[counts > 0])[::-1]
    if ordered.size < 2:
        return 0.0
    log_ranks = np.log(np.arange(1, ordered.size + 1))
    weighted, total = float(ordered @ log_ranks), float(ordered.sum())

    def log_likelihood(exponent: float) -> float:
        return -exponent * weighted - total * math.log(np.exp(-exponent * log_ranks).sum())

    return max(_EXPONENTS, key=log_likelihood)


def exponent_of_distinct(rows: int, distinct: float, draws: int) -> float:
    """The exponent, at most 3, of which `draws` draws touch so many different ids on average."""
    low, high = 0.0, _STEEPEST
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_distinct(rows, middle, draws) > distinct else (low, middle)
    return round((low + high) / 2, 3)


def fit_log_exponent(ids: Ids) -> float:
    """The exponent of which as many ids of a batch are distinct as in the log [N], in its order; at most 3.

    Popularity alone says too little: an id that was just read is often read again. Of the Scarab log, windows of 64 to
    262,144 accesses have the distinct ids of exponents between 0.85 and 0.90, where the likeliest exponent of its
    counts is 0.8 and gives a fifth too many. One number thus says what a batch reads, and no further feature is needed.
    A log of fewer than 4,096 accesses has the likeliest exponent of its counts.

    Raises:
        InputError: the log is empty.
    """
    if not len(ids):
        raise InputError("access log: must hold ids, but is empty")
    _, labels_N = np.unique(ids, return_inverse=True)
    # A window that is most of the log holds all its ids, whatever their exponent.
    sizes = [size for size in _WINDOWS if size * _FEWEST_WINDOWS <= len(labels_N)]
    rows = int(labels_N.max()) + 1
    if not sizes:
        return fit_exponent(np.bincount(labels_N))
    exponents = [exponent_of_distinct(rows, _mean_distinct(labels_N, size), size) for size in sizes]
    return float(np.median(exponents))


def _mean_distinct(labels_N: Ids, size: int) -> float:
    starts = np.linspace(0, len(labels_N) - size, _WINDOWS_EACH).astype(np.int64)
    return float(np.mean([len(np.unique(labels_N[start : start + size])) for start in starts.tolist()]))


def _rank_blocks(rows: int) -> tuple[Floats, Floats]:
    """Ranks that stand for all of [1, rows], and how many each stands for: one by one first, then geometric blocks."""
    if rows <= _QUADRATURE_POINTS:
        return np.arange(1.0, rows + 1), np.ones(rows)
    head = _QUADRATURE_POINTS // 2
    edges = np.geomspace(head + 0.5, rows + 0.5, _QUADRATURE_POINTS - head + 1)
    ranks = np.concatenate((np.arange(1.0, head + 1), np.sqrt(edges[1:] * edges[:-1])))
    return ranks, np.concatenate((np.ones(head), np.diff(edges)))


def _integral(x: Floats, exponent: float) -> Floats:
    """The integral of t ** -exponent from 1 to x."""
    log = np.log(x)
    return log if exponent == 1 else np.expm1((1 - exponent) * log) / (1 - exponent)


def _inverse_integral(y: Floats, exponent: float) -> Floats:
    if exponent == 1:
        return np.exp(y)
    return np.exp(np.log1p(np.maximum(y * (1 - exponent), -1 + 1e-15)) / (1 - exponent))


def _check(rows: int, exponent: float) -> None:
    if rows < 1:
        raise InputError(f"zipf: rows must be >= 1, but got {rows}")
    if not (exponent >= 0 and math.isfinite(exponent)):
        raise InputError(f"zipf: exponent must be finite and >= 0, but got {exponent}")
