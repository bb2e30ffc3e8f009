"""Data with planted structure: labels are drawn from known probabilities, so that the best possible model is known."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from representations.datasets.bag_column import BagColumn
from representations.datasets.columns import check_row_limit, check_seed, refuse_bad_share, selected
from representations.datasets.dataset import Dataset
from representations.specs import Feature
from representations.specs.sizes import require_integer
from representations.zipf import sample_ids

__all__ = ["SYNTHETIC_FEATURES", "SyntheticData", "SyntheticSpec", "load_synthetic", "make_synthetic"]

_DEFAULT_FEATURES = {"user": 10_000, "item": 5_000, "category": 100, "context": 20}
SYNTHETIC_FEATURES = tuple(_DEFAULT_FEATURES)


@dataclass(frozen=True, kw_only=True, slots=True)
class SyntheticSpec:
    """What is planted: an effect per id, and per pair of features the dot product of `rank` hidden factors per id.

    Ids are drawn by Zipf's law with `zipf`; the scales are standard deviations on the logit. A feature whose pooling is
    not 1 is multi-hot: a sample has 1 + Poisson(pooling - 1) of its ids, whose effects and factors are added up and
    divided by the root of the pooling. Multi-hot features come after the others.
    """

    features: tuple[Feature, ...] = field(
        default_factory=lambda: tuple(Feature(name=n, cardinality=c) for n, c in _DEFAULT_FEATURES.items())
    )
    dense_features: int = 2
    zipf: float = 1.0
    effect_scale: float = 0.5
    interaction_scale: float = 0.5
    dense_scale: float = 0.3
    rank: int = 4
    bias: float = -1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        for name in ("zipf", "effect_scale", "interaction_scale", "dense_scale"):
            if not getattr(self, name) >= 0:
                raise InputError(f"synthetic: {name} must be >= 0, but got {getattr(self, name)}")
        if any(feature.cardinality < 2 for feature in self.features):
            raise InputError("synthetic: every cardinality must be >= 2, as id 0 stands for missing values")
        require_integer("synthetic: dense_features", self.dense_features, minimum=0)
        require_integer("synthetic: rank", self.rank, minimum=1)
        if not self.features:
            raise InputError("synthetic: needs at least one feature")
        for feature in self.features:
            if feature.pooling < 1:
                raise InputError(
                    f"synthetic: feature {feature.name!r}: pooling must be >= 1, but got {feature.pooling:g}"
                )
        if [f.pooling > 1 for f in self.features] != sorted(f.pooling > 1 for f in self.features):
            raise InputError("synthetic: features of pooling 1 must come before the others")


@dataclass(frozen=True, kw_only=True, slots=True)
class SyntheticData:
    """A data set and the probability of each label."""

    dataset: Dataset
    probabilities_N: NDArray[np.float64]


def make_synthetic(spec: SyntheticSpec, rows: int, seed: int = 0) -> SyntheticData:
    """`rows` samples; equal spec, rows and seed give equal data.

    Raises:
        InputError: fewer than one row, or a negative seed.
    """
    check_row_limit(rows)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    one_hot = [feature for feature in spec.features if feature.pooling == 1]
    draws = [1 + sample_ids(rng, feature.cardinality - 1, spec.zipf, rows) for feature in one_hot]
    ids_NS = np.stack(draws, axis=1) if draws else np.empty((rows, 0), dtype=np.int64)
    bags = tuple(_bags(spec, rng, feature, rows) for feature in spec.features[len(one_hot) :])
    dense_NF = rng.standard_normal((rows, spec.dense_features), dtype=np.float32)
    logits_N = spec.bias + _planted(spec, rng, ids_NS, bags)
    logits_N += dense_NF @ rng.normal(0, spec.dense_scale, spec.dense_features)
    probabilities_N = 1 / (1 + np.exp(-logits_N))
    dataset = Dataset(
        name="synthetic",
        dense_NF=dense_NF,
        ids_NS=ids_NS,
        labels_N=(rng.random(rows) < probabilities_N).astype(np.float32),
        features=tuple(one_hot),
        bags=bags,
        dense_names=tuple(f"D{i + 1}" for i in range(spec.dense_features)),
    )
    return SyntheticData(dataset=dataset, probabilities_N=probabilities_N)


def load_synthetic(
    path: Path | None = None,
    features: Sequence[str] | None = None,
    rows: int | None = None,
    seed: int = 0,
    max_bad_share: float = 0.0,
) -> Dataset:
    """The default synthetic data (100,000 rows unless limited), seen through the wanted features only."""
    refuse_bad_share("synthetic", max_bad_share)
    if path is not None:
        raise InputError(f"synthetic: is generated and reads no file, but got path {str(path)!r}")
    check_row_limit(rows)
    spec = SyntheticSpec()
    names = [feature.name for feature in spec.features]
    data = make_synthetic(spec, rows or 100_000, seed).dataset
    columns = [names.index(name) for name in selected("synthetic", features, names)]
    return Dataset(
        name=data.name,
        dense_NF=data.dense_NF,
        ids_NS=data.ids_NS[:, columns],
        labels_N=data.labels_N,
        features=tuple(spec.features[i] for i in columns),
        dense_names=data.dense_names,
    )


def _bags(spec: SyntheticSpec, rng: np.random.Generator, feature: Feature, rows: int) -> BagColumn:
    lengths_N = 1 + rng.poisson(feature.pooling - 1, rows)
    ids_L = 1 + sample_ids(rng, feature.cardinality - 1, spec.zipf, int(lengths_N.sum()))
    return BagColumn(feature=feature, ids_L=ids_L, offsets_N=np.cumsum(lengths_N) - lengths_N)


def _planted(
    spec: SyntheticSpec, rng: np.random.Generator, ids_NS: NDArray[np.int64], bags: Sequence[BagColumn]
) -> NDArray[np.float64]:
    logits = np.zeros(len(ids_NS))
    hidden = []
    pooled = [partial(_row_of, ids_N) for ids_N in ids_NS.T] + [partial(_sum_of, column) for column in bags]
    for feature, pool in zip(spec.features, pooled, strict=True):
        logits += pool(rng.normal(0, spec.effect_scale, feature.cardinality))
        hidden.append(pool(rng.standard_normal((feature.cardinality, spec.rank))))
    pairs = list(combinations(hidden, 2))
    for left, right in pairs:
        scale = spec.interaction_scale / np.sqrt(spec.rank * len(pairs))
        logits += scale * np.einsum("nr,nr->n", left, right)
    return logits


def _row_of(ids_N: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    rows: NDArray[np.float64] = values[ids_N]
    return rows


def _sum_of(column: BagColumn, values: NDArray[np.float64]) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = np.add.reduceat(values[column.ids_L], column.offsets_N)
    sums /= np.sqrt(column.feature.pooling)
    return sums
