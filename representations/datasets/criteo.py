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
from representations.datasets.criteo_rows import CATEGORICAL_NAMES, DENSE_NAMES, MISSING, CriteoChunk, read_chunks
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
    chunk_rows: int = 25_000

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
    """The rows of a Criteo file; only the wanted features are kept, and memory stays near twice that of the result.

    Raises:
        InputError: no path, no rows, or more bad rows than `maximum_bad_share` (naming the first bad cell).
    """
    if path is None:
        raise InputError(f"data.path: {name} needs the path of the file, as the set may not be redistributed")
    check_row_limit(rows)
    names = selected(name, features, CATEGORICAL_NAMES)
    columns = [CATEGORICAL_NAMES.index(n) for n in names]
    kept = _Kept(len(names))
    for chunk in read_chunks(path, chunk_rows=options.chunk_rows, rows=rows):
        kept.add(chunk, columns)
    kept.check_bad_rows(path, options.maximum_bad_share)
    ids_NS = np.empty((kept.rows, len(names)), dtype=np.int64)
    cardinalities = []
    for i in range(len(names)):
        ids_NS[:, i], cardinality = _encode(kept.take_values(i), options)
        cardinalities.append(cardinality)
    return Dataset(
        name=name,
        dense_NF=np.concatenate(kept.dense),
        ids_NS=ids_NS,
        labels_N=np.concatenate(kept.labels),
        features=tuple(Feature(name=n, cardinality=c) for n, c in zip(names, cardinalities, strict=True)),
        dense_names=DENSE_NAMES,
        bad_rows=kept.bad_rows,
        notes=(f"bad rows left out: {kept.bad_rows}; the first: {kept.first_bad}",) if kept.bad_rows else (),
    )


class _Kept:
    """What is kept of chunks until all are read: as few bytes as hold it, since a log may fill most of the memory."""

    def __init__(self, columns: int) -> None:
        self.rows, self.bad_rows, self.first_bad = 0, 0, ""
        self.labels: list[NDArray[np.float32]] = []
        self.dense: list[NDArray[np.float32]] = []
        self._values: list[list[NDArray[np.uint32]]] = [[] for _ in range(columns)]
        self._missing: list[list[NDArray[np.bool_]]] = [[] for _ in range(columns)]

    def add(self, chunk: CriteoChunk, columns: list[int]) -> None:
        """Keep the chunk's labels, scaled dense features and wanted columns."""
        if not self.bad_rows:
            self.first_bad = chunk.first_bad
        self.bad_rows += chunk.bad_rows
        self.rows += len(chunk.labels_N)
        self.labels.append(chunk.labels_N)
        self.dense.append(np.log1p(np.maximum(chunk.integers_NF, 0)).astype(np.float32))
        for i, column in enumerate(columns):
            values_N = chunk.values_NS[:, column]
            self._values[i].append(values_N.astype(np.uint32))
            self._missing[i].append(values_N == MISSING)

    def take_values(self, i: int) -> NDArray[np.int64]:
        """The values of one column, [N], `MISSING` among them; they are not kept any longer."""
        values_N = np.concatenate(self._values[i], dtype=np.int64)
        values_N[np.concatenate(self._missing[i])] = MISSING
        self._values[i], self._missing[i] = [], []
        return values_N

    def check_bad_rows(self, path: Path, maximum_share: float) -> None:
        """Raise a `CorruptFileError` where there are no good rows, or too many bad ones."""
        total = self.rows + self.bad_rows
        if not total:
            raise CorruptFileError(f"{path}: holds no rows")
        if self.bad_rows > maximum_share * total:
            raise CorruptFileError(
                f"{self.first_bad} ({self.bad_rows} of {total} rows are bad; data.max_bad_share = {maximum_share:g})"
            )
        if not self.rows:
            raise CorruptFileError(f"{self.first_bad} (none of the {self.bad_rows} rows can be used)")


def _encode(values_N: NDArray[np.int64], options: CriteoOptions) -> tuple[NDArray[np.int64], int]:
    if options.maximum_cardinality is None:
        return encode_values(values_N, minimum_count=options.minimum_count)
    ids_N = np.where(values_N < 0, 0, 1 + values_N % (options.maximum_cardinality - 1))
    return ids_N, int(ids_N.max()) + 1
