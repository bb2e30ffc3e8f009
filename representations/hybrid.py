"""A table and a DHE side by side (Hsia et al., arXiv 2302.10872)."""

from torch import Tensor, nn

from representations.dhe.embedding import DheEmbedding
from representations.interaction import Concat
from representations.specs import Feature, HybridSpec
from representations.tables.build import build_table

__all__ = ["HybridEmbedding"]


class HybridEmbedding(nn.Module):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, table dim + DHE dim]."""

    def __init__(self, feature: Feature, spec: HybridSpec, seed: int = 0) -> None:
        super().__init__()
        self.table = build_table(feature, spec.table)
        self.dhe = DheEmbedding(feature, spec.dhe, seed)
        self.concat = Concat()

    def forward(self, ids_N: Tensor, offsets_B: Tensor | None = None) -> Tensor:
        """Shape [B, table dim + DHE dim]."""
        joined_BD: Tensor = self.concat(self.table(ids_N, offsets_B), self.dhe(ids_N, offsets_B))
        return joined_BD
