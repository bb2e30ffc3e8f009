"""A narrow table and a projection to the common width (Ginart et al., arXiv 1909.11810)."""

import math

from torch import Tensor, nn

from representations.specs import Feature, MixedDimensionSpec, TableSpec
from representations.table import EmbeddingTable

__all__ = ["MixedDimensionEmbedding", "build_mixed_dimension"]


class MixedDimensionEmbedding(nn.Module):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, dim].

    The projection is linear, so that bags are summed before it. It begins with the variance that gives what comes out
    the variance of the table's rows.
    """

    def __init__(self, feature: Feature, spec: MixedDimensionSpec) -> None:
        super().__init__()
        self.table = EmbeddingTable(feature, TableSpec(dim=spec.inner_dim))
        self.projection = nn.Linear(spec.inner_dim, spec.dim, bias=False)
        bound = math.sqrt(3 / spec.inner_dim)
        nn.init.uniform_(self.projection.weight, -bound, bound)

    def forward(self, ids_N: Tensor, offsets_B: Tensor | None = None) -> Tensor:
        """Shape [B, dim]."""
        projected_BD: Tensor = self.projection(self.table(ids_N, offsets_B))
        return projected_BD


def build_mixed_dimension(feature: Feature, spec: MixedDimensionSpec) -> nn.Module:
    """The module of the spec: a plain table where its width is the full one."""
    if spec.has_projection:
        return MixedDimensionEmbedding(feature, spec)
    return EmbeddingTable(feature, TableSpec(dim=spec.dim))
