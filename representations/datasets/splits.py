"""Train, validation and test rows, prepared as training sees them.

The split comes before anything is learned from the data: an id that the training rows hold fewer than
`minimum_count` times becomes 0 in all three parts (so that id 0 is trained, and unseen ids share its embedding), and
dense features are standardised by the mean and deviation of the training rows.
"""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError, UnknownNameError
from representations.datasets.columns import check_seed
from representations.datasets.dataset import Dataset
from representations.specs import Feature

__all__ = ["SplitKind", "Splits", "split_dataset"]

SplitKind = Literal["temporal", "random"]
TEST_SHARE = 1 / 6
VALIDATION_SHARE = 1 / 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Splits:
    """Three parts of one data set; `dense_mean` and `dense_deviation` are what the dense features were scaled by."""

    train: Dataset
    validation: Dataset
    test: Dataset
    kind: SplitKind
    dense_mean: tuple[float, ...] = ()
    dense_deviation: tuple[float, ...] = ()

    @property
    def features(self) -> tuple[Feature, ...]:
        """The categorical features, the same in all parts: one-hot ones, then multi-hot ones."""
        return self.train.all_features

    @property
    def dense_features(self) -> int:
        """How many dense features there are."""
        return len(self.train.dense_names)


def split_dataset(dataset: Dataset, kind: SplitKind = "temporal", seed: int = 0, *, minimum_count: int = 2) -> Splits:
    """The last sixth of the rows as test and the twelfth before it as validation: in time order, or shuffled by seed.

    Raises:
        InputError: an unknown kind, a negative seed, too few rows for three parts, or a part whose labels are all
            the same.
    """
    train, validation, test = _row_parts(dataset, kind, seed)
    mean, deviation = _moments(dataset.dense_NF[train])
    kept = [_kept(dataset.ids_NS[train, i], f.cardinality, minimum_count) for i, f in enumerate(dataset.features)]

    kept_bags = [_kept(b.take(train).ids_L, b.feature.cardinality, minimum_count) for b in dataset.bags]

    def prepared(rows: NDArray[np.int64] | slice) -> Dataset:
        part = dataset.take(rows)
        columns = [np.where(keep[part.ids_NS[:, i]], part.ids_NS[:, i], 0) for i, keep in enumerate(kept)]
        scaled = ((part.dense_NF - mean) / deviation).astype(np.float32)
        ids_NS = np.stack(columns, axis=1) if columns else part.ids_NS
        bags = [
            replace(b, ids_L=np.where(keep[b.ids_L], b.ids_L, 0)) for b, keep in zip(part.bags, kept_bags, strict=True)
        ]
        return replace(part, dense_NF=scaled, ids_NS=ids_NS, bags=tuple(bags))

    for part, rows in (("training", train), ("validation", validation), ("test", test)):
        _check_classes(dataset, part, rows)
    return Splits(
        train=prepared(train),
        validation=prepared(validation),
        test=prepared(test),
        kind=kind,
        dense_mean=tuple(mean.tolist()),
        dense_deviation=tuple(deviation.tolist()),
    )


def _row_parts(dataset: Dataset, kind: str, seed: int) -> tuple[NDArray[np.int64], ...]:
    rows = len(dataset)
    test, validation = round(rows * TEST_SHARE), round(rows * VALIDATION_SHARE)
    if min(test, validation) < 1:
        raise InputError(f"{dataset.name}: needs at least 12 rows to be split, but has {rows}")
    check_seed(seed)
    if kind not in get_args(SplitKind):
        raise UnknownNameError("split", kind, get_args(SplitKind))
    order = np.arange(rows) if kind == "temporal" else np.random.default_rng(seed).permutation(rows)
    return tuple(np.split(order, [rows - test - validation, rows - test]))


def _check_classes(dataset: Dataset, part: str, rows: NDArray[np.int64]) -> None:
    labels = dataset.labels_N[rows]
    if (labels == labels[0]).all():
        raise InputError(
            f"{dataset.name}: label: must be 0 in some and 1 in other {part} rows, "
            f"but is {labels[0]:g} in all {len(labels)} of them"
        )


def _moments(dense_NF: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    deviation = dense_NF.std(axis=0, dtype=np.float64)
    return dense_NF.mean(axis=0, dtype=np.float64), np.where(deviation > 0, deviation, 1.0)


def _kept(ids_N: NDArray[np.int64], cardinality: int, minimum_count: int) -> NDArray[np.bool_]:
    return np.bincount(ids_N, minlength=cardinality) >= minimum_count
