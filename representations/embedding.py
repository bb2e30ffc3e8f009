"""The module of an embedding spec."""

from torch import nn

from representations.dhe.embedding import DheEmbedding
from representations.hybrid import HybridEmbedding
from representations.specs import DheSpec, EmbeddingSpec, Feature, TableSpec
from representations.table import EmbeddingTable

__all__ = ["build_embedding"]


def build_embedding(feature: Feature, spec: EmbeddingSpec, seed: int = 0) -> nn.Module:
    """A module from ids [B], or (flat ids [N], offsets [B]), to [B, spec.width].

    `seed` draws the hash functions; weights come from torch's current generator.
    """
    if isinstance(spec, TableSpec):
        return EmbeddingTable(feature, spec)
    if isinstance(spec, DheSpec):
        return DheEmbedding(feature, spec, seed)
    return HybridEmbedding(feature, spec, seed)
