"""Data with planted structure: labels are drawn from known probabilities, so that the best possible model is known."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
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

    Ids are drawn by Zipf's law with `zipf`; the scales are standard deviations on the logit.
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
    draws = [1 + sample_ids(rng, feature.cardinality - 1, spec.zipf, rows) for feature in spec.features]
    ids_NS = np.stack(draws, axis=1)
    dense_NF = rng.standard_normal((rows, spec.dense_features), dtype=np.float32)
    logits_N = spec.bias + _planted(spec, rng, ids_NS)
    logits_N += dense_NF @ rng.normal(0, spec.dense_scale, spec.dense_features)
    probabilities_N = 1 / (1 + np.exp(-logits_N))
    dataset = Dataset(
        name="synthetic",
        dense_NF=dense_NF,
        ids_NS=ids_NS,
        labels_N=(rng.random(rows) < probabilities_N).astype(np.float32),
        features=spec.features,
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


def _planted(spec: SyntheticSpec, rng: np.random.Generator, ids_NS: NDArray[np.int64]) -> NDArray[np.float64]:
    logits = np.zeros(len(ids_NS))
    hidden = []
    for column, feature in enumerate(spec.features):
        logits += rng.normal(0, spec.effect_scale, feature.cardinality)[ids_NS[:, column]]
        hidden.append(rng.standard_normal((feature.cardinality, spec.rank))[ids_NS[:, column]])
    pairs = list(combinations(hidden, 2))
    for left, right in pairs:
        scale = spec.interaction_scale / np.sqrt(spec.rank * len(pairs))
        logits += scale * np.einsum("nr,nr->n", left, right)
    return logits
