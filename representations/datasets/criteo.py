"""The Criteo click logs that a user has: Kaggle display advertising, and Terabyte.

The sets may not be redistributed, so none is bundled. Dense features are log(1 + x) with negative x as 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profiles.errors import CorruptFileError, InputError
from representations.datasets.columns import check_row_limit, encode_values, selected
from representations.datasets.criteo_rows import CATEGORICAL_NAMES, DENSE_NAMES, CriteoChunk, read_chunks
from representations.datasets.dataset import Dataset
from representations.specs import Feature

__all__ = ["CriteoOptions", "load_criteo", "load_criteo_kaggle", "load_criteo_terabyte"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CriteoOptions:
    """How values become ids: by a vocabulary of the values seen `minimum_count` times, or with `maximum_cardinality`
    by the value modulo (the cardinality - 1), plus 1. Missing values have id 0.
    """

    minimum_count: int = 1
    maximum_cardinality: int | None = None
    maximum_bad_share: float = 0.0
    chunk_rows: int = 100_000

    def __post_init__(self) -> None:
        if self.minimum_count < 1 or self.chunk_rows < 1:
            raise InputError("criteo: minimum_count and chunk_rows must be >= 1")
        if not 0 <= self.maximum_bad_share <= 1:
            raise InputError(f"criteo: maximum_bad_share must be in [0, 1], but got {self.maximum_bad_share}")
        if self.maximum_cardinality is not None and self.maximum_cardinality < 2:
            raise InputError(f"criteo: maximum_cardinality must be >= 2, but got {self.maximum_cardinality}")


def load_criteo_kaggle(
    path: Path | None = None,
    features: Sequence[str] | None = None,
    rows: int | None = None,
    seed: int = 0,
    max_bad_share: float = 0.0,
) -> Dataset:
    """Ids by vocabulary, as the published 26 cardinalities of the Kaggle set."""
    del seed
    return load_criteo(
        "criteo-kaggle", path, CriteoOptions(maximum_bad_share=max_bad_share), features=features, rows=rows
    )


def load_criteo_terabyte(
    path: Path | None = None,
    features: Sequence[str] | None = None,
    rows: int | None = None,
    seed: int = 0,
    max_bad_share: float = 0.0,
) -> Dataset:
    """Ids by modulo up to 10 million per feature, as in the 12.59 GB model."""
    del seed
    options = CriteoOptions(maximum_cardinality=10_000_000, maximum_bad_share=max_bad_share)
    return load_criteo("criteo-terabyte", path, options, features=features, rows=rows)


def load_criteo(
    name: str,
    path: Path | None,
    options: CriteoOptions,
    *,
    features: Sequence[str] | None = None,
    rows: int | None = None,
) -> Dataset:
    """The rows of a Criteo file; only the wanted features are kept in memory.

    Raises:
        InputError: no path, no rows, or more bad rows than `maximum_bad_share` (naming the first bad cell).
    """
    if path is None:
        raise InputError(f"data.path: {name} needs the path of the file, as the set may not be redistributed")
    check_row_limit(rows)
    names = selected(name, features, CATEGORICAL_NAMES)
    columns = [CATEGORICAL_NAMES.index(n) for n in names]
    chunks = [_narrowed(chunk, columns) for chunk in read_chunks(path, chunk_rows=options.chunk_rows, rows=rows)]
    bad_rows, first_bad = _check_bad_rows(path, chunks, options.maximum_bad_share)
    encoded = [_encode(np.concatenate([c.values_NS[:, i] for c in chunks]), options) for i in range(len(names))]
    integers_NF = np.concatenate([chunk.integers_NF for chunk in chunks])
    return Dataset(
        name=name,
        dense_NF=np.log1p(np.maximum(integers_NF, 0)).astype(np.float32),
        ids_NS=np.stack([ids for ids, _ in encoded], axis=1),
        labels_N=np.concatenate([chunk.labels_N for chunk in chunks]),
        features=tuple(Feature(name=n, cardinality=c) for n, (_, c) in zip(names, encoded, strict=True)),
        dense_names=DENSE_NAMES,
        bad_rows=bad_rows,
        notes=(f"bad rows left out: {bad_rows}; the first: {first_bad}",) if bad_rows else (),
    )


def _narrowed(chunk: CriteoChunk, columns: list[int]) -> CriteoChunk:
    return CriteoChunk(
        labels_N=chunk.labels_N,
        integers_NF=chunk.integers_NF,
        values_NS=chunk.values_NS[:, columns],
        bad_rows=chunk.bad_rows,
        first_bad=chunk.first_bad,
    )


def _check_bad_rows(path: Path, chunks: list[CriteoChunk], maximum_share: float) -> tuple[int, str]:
    good = sum(len(chunk.labels_N) for chunk in chunks)
    bad = sum(chunk.bad_rows for chunk in chunks)
    if not good + bad:
        raise CorruptFileError(f"{path}: holds no rows")
    first = next((chunk.first_bad for chunk in chunks if chunk.bad_rows), "")
    if bad > maximum_share * (good + bad):
        raise CorruptFileError(f"{first} ({bad} of {good + bad} rows are bad; data.max_bad_share = {maximum_share:g})")
    if not good:
        raise CorruptFileError(f"{first} (none of the {bad} rows can be used)")
    return bad, first


def _encode(values_N: NDArray[np.int64], options: CriteoOptions) -> tuple[NDArray[np.int64], int]:
    if options.maximum_cardinality is None:
        return encode_values(values_N, minimum_count=options.minimum_count)
    ids_N = np.where(values_N < 0, 0, 1 + values_N % (options.maximum_cardinality - 1))
    return ids_N, int(ids_N.max()) + 1
