"""Features crossed from others: `month*day` has one id per pair of values that occurs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from representations.datasets.columns import encode_values
from representations.datasets.dataset import Dataset
from representations.specs import Feature

__all__ = ["CROSS", "base_features", "with_crosses"]

CROSS = "*"


def base_features(names: Sequence[str]) -> tuple[str, ...]:
    """The plain features that the names are made of, each once, in order."""
    return tuple(dict.fromkeys(part for name in names for part in name.split(CROSS)))


def with_crosses(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The data set with the named features, of which `a*b` is crossed from its own `a` and `b`.

    A cross is missing (id 0) where any part is; ids are numbered by first appearance.
    """
    if tuple(names) == tuple(feature.name for feature in dataset.features):
        return dataset
    columns = {feature.name: (dataset.ids_NS[:, i], feature.cardinality) for i, feature in enumerate(dataset.features)}
    made = [reduce(_crossed, (columns[part] for part in name.split(CROSS))) for name in names]
    return replace(
        dataset,
        ids_NS=np.stack([ids_N for ids_N, _ in made], axis=1),
        features=tuple(Feature(name=n, cardinality=c) for n, (_, c) in zip(names, made, strict=True)),
    )


def _crossed(
    left: tuple[NDArray[np.int64], int], right: tuple[NDArray[np.int64], int]
) -> tuple[NDArray[np.int64], int]:
    (left_N, _), (right_N, rows) = left, right
    return encode_values(np.where((left_N == 0) | (right_N == 0), -1, left_N * rows + right_N))
