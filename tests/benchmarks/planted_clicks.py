"""A click log in Criteo's format whose labels depend on few features and pairs of them; the others are noise.

Rows are made and written in chunks, so that memory does not grow with the file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["PlantedClicks", "write_clicks"]

_CHUNK = 50_000
_RANK = 4
_EFFECT, _INTERACTION, _BIAS = 0.6, 0.8, -1.0
_INTEGERS, _CATEGORIES = 13, 26


@dataclass(frozen=True, kw_only=True, slots=True)
class PlantedClicks:
    """Ids of the features that labels depend on, and of those that they do not; these are the first columns, in order.

    Planted ids are drawn by Zipf's law with exponent 1, ids of noise alike. Labels also depend on the first integer.
    """

    planted: tuple[int, ...] = (20, 60, 200, 600)
    noise: tuple[int, ...] = (200_000, 300_000, 400_000)
    seed: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are not empty."""
        return tuple(f"C{place + 1}" for place in range(len(self.planted) + len(self.noise)))

    @property
    def noise_names(self) -> tuple[str, ...]:
        """The columns of noise."""
        return self.names[len(self.planted) :]


def write_clicks(path: Path, rows: int, clicks: PlantedClicks) -> None:
    """Write so many rows to a new file."""
    with path.open("w") as file:
        for text in _chunks(rows, clicks):
            file.write(text)


def _chunks(rows: int, clicks: PlantedClicks) -> Iterator[str]:
    rng = np.random.default_rng(clicks.seed)
    effects = [rng.normal(0, _EFFECT, count) for count in clicks.planted]
    factors = [rng.normal(0, 1, (count, _RANK)) for count in clicks.planted]
    shares = [1 / np.arange(1, count + 1) for count in clicks.planted]
    for begin in range(0, rows, _CHUNK):
        count = min(_CHUNK, rows - begin)
        planted = [rng.choice(len(share), count, p=share / share.sum()) for share in shares]
        noise = [rng.integers(0, ids, count) for ids in clicks.noise]
        integer_N = rng.poisson(2.0, count)
        logit_N = _logits(planted, effects, factors) + 0.3 * (np.log1p(integer_N) - 1)
        label_N = rng.random(count) < 1 / (1 + np.exp(-logit_N))
        yield _lines(label_N, integer_N, [*planted, *noise])


def _logits(
    ids: list[NDArray[np.int64]], effects: list[NDArray[np.float64]], factors: list[NDArray[np.float64]]
) -> NDArray[np.float64]:
    logit_N = _BIAS + sum(effect[id_N] for id_N, effect in zip(ids, effects, strict=True))
    vectors = [factor[id_N] for id_N, factor in zip(ids, factors, strict=True)]
    # The dot products of all pairs, of spread 1 each before they are scaled.
    both_N = (np.sum(vectors, axis=0) ** 2).sum(axis=1) - sum((vector**2).sum(axis=1) for vector in vectors)
    pairs = len(ids) * (len(ids) - 1) / 2
    scaled_N: NDArray[np.float64] = logit_N + _INTERACTION * both_N / 2 / np.sqrt(_RANK * pairs)
    return scaled_N


def _lines(label_N: NDArray[np.bool_], integer_N: NDArray[np.int64], ids: list[NDArray[np.int64]]) -> str:
    no_integers, no_categories = "\t" * (_INTEGERS - 1), "\t" * (_CATEGORIES - len(ids))
    rows = zip(label_N.tolist(), integer_N.tolist(), *(id_N.tolist() for id_N in ids), strict=True)
    return "".join(
        "\t".join((str(int(label)), f"{integer}{no_integers}", *(f"{one:x}" for one in values))) + f"{no_categories}\n"
        for label, integer, *values in rows
    )
