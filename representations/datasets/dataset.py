"""Samples in memory: dense features, categorical ids and labels, in time order.

Shape suffixes: N samples, F dense features, S categorical features.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from representations.datasets.bag_column import BagColumn
from representations.ids import check_ids
from representations.specs import Feature
from representations.zipf import fit_exponent

__all__ = ["Dataset", "zipf_exponents"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """Samples of one source, earliest first; id 0 of every feature stands for missing, rare or unseen values.

    `dense_NF` holds plain (not standardised) values, `ids_NS` ids in [0, cardinality) of the one-hot `features`,
    `bags` the multi-hot ones, which come after them in a model, and `labels_N` 0 or 1.
    `bad_rows` were left out while loading; `notes` says what a report should repeat about it.
    """

    name: str
    dense_NF: NDArray[np.float32]
    ids_NS: NDArray[np.int64]
    labels_N: NDArray[np.float32]
    features: tuple[Feature, ...]
    dense_names: tuple[str, ...] = ()
    bad_rows: int = 0
    notes: tuple[str, ...] = ()
    bags: tuple[BagColumn, ...] = ()

    def __post_init__(self) -> None:
        rows = len(self.labels_N)
        if self.dense_NF.shape != (rows, len(self.dense_names)):
            wanted = [rows, len(self.dense_names)]
            raise InputError(f"{self.name}: dense_NF must be of shape {wanted}, but got {list(self.dense_NF.shape)}")
        if len(self.ids_NS) != rows:
            raise InputError(f"{self.name}: ids_NS must have {rows} rows, but got {len(self.ids_NS)}")
        for column in self.bags:
            if len(column) != rows:
                raise InputError(
                    f"{self.name}: feature {column.feature.name!r} must have {rows} bags, but got {len(column)}"
                )
        _check_dense(self)
        _check_labels(self)
        check_ids(self.ids_NS, self.features)

    def __len__(self) -> int:
        return len(self.labels_N)

    @property
    def all_features(self) -> tuple[Feature, ...]:
        """The one-hot features, then the multi-hot ones."""
        return (*self.features, *(column.feature for column in self.bags))

    @property
    def positive_rate(self) -> float:
        """The share of labels that are 1."""
        return float(self.labels_N.mean()) if len(self) else float("nan")

    def take(self, rows: NDArray[np.int64] | slice) -> "Dataset":
        """The same data set of these rows only."""
        return replace(
            self,
            dense_NF=self.dense_NF[rows],
            ids_NS=self.ids_NS[rows],
            labels_N=self.labels_N[rows],
            bags=tuple(column.take(rows) for column in self.bags),
        )


def zipf_exponents(dataset: Dataset) -> Mapping[str, float]:
    """Per feature, the Zipf exponent (one decimal) under which its ids' frequencies are most likely."""
    ids = {feature.name: dataset.ids_NS[:, column] for column, feature in enumerate(dataset.features)}
    ids |= {column.feature.name: column.ids_L for column in dataset.bags}
    return {name: fit_exponent(np.bincount(values)) for name, values in ids.items()}


def _check_dense(dataset: Dataset) -> None:
    if np.isfinite(dataset.dense_NF).all():
        return
    row, column = (int(i) for i in np.argwhere(~np.isfinite(dataset.dense_NF))[0])
    value = dataset.dense_NF[row, column]
    raise InputError(f"{dataset.name}: {dataset.dense_names[column]}, row {row}: must be finite, but got {value}")


def _check_labels(dataset: Dataset) -> None:
    bad = np.flatnonzero((dataset.labels_N != 0) & (dataset.labels_N != 1))
    if bad.size:
        raise InputError(f"{dataset.name}: label, row {bad[0]}: must be 0 or 1, but got {dataset.labels_N[bad[0]]:g}")
