"""The module of an embedding spec."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from representations.dhe.embedding import DheEmbedding
from representations.hybrid import HybridEmbedding
from representations.mixed_dimension import build_mixed_dimension
from representations.quotient_remainder import build_quotient_remainder
from representations.reduced_table import ReducedTableEmbedding
from representations.robe import RobeArray, RobeEmbedding
from representations.specs import (
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    MixedDimensionSpec,
    QuotientRemainderSpec,
    ReducedTableSpec,
    RobeSpec,
    TableSpec,
    TensorTrainSpec,
)
from representations.tables.build import build_table
from representations.tensor_train import TensorTrainEmbedding

__all__ = ["build_embedding"]


def build_embedding(feature: Feature, spec: EmbeddingSpec, seed: int = 0) -> nn.Module:
    """A module from ids [B], or (flat ids [N], offsets [B]), to [B, spec.width].

    `seed` draws the hash functions; weights come from torch's current generator. A ROBE embedding of its own has an
    array of its own; inside a model `EmbeddingSet` gives all of them the same one.
    """
    return _BUILDERS[type(spec)](feature, spec, seed)


def _robe(feature: Feature, spec: RobeSpec, seed: int) -> nn.Module:
    array = RobeArray(spec, feature.cardinality, seed)
    module = RobeEmbedding(feature, spec, array, 0)
    module.add_module("array", array)
    return module


_BUILDERS: Mapping[type[EmbeddingSpec], Callable[[Feature, Any, int], nn.Module]] = {
    TableSpec: lambda feature, spec, _: build_table(feature, spec),
    DheSpec: DheEmbedding,
    HybridSpec: HybridEmbedding,
    QuotientRemainderSpec: lambda feature, spec, _: build_quotient_remainder(feature, spec),
    MixedDimensionSpec: lambda feature, spec, _: build_mixed_dimension(feature, spec),
    TensorTrainSpec: lambda feature, spec, _: TensorTrainEmbedding(feature, spec),
    ReducedTableSpec: lambda feature, spec, _: ReducedTableEmbedding(feature, spec),
    RobeSpec: _robe,
}
