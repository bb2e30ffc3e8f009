"""The embedding table: one learned row per id."""

import math

import torch
from torch import Tensor, nn

from representations.specs import Feature, TableSpec

__all__ = ["EmbeddingTable"]


class EmbeddingTable(nn.EmbeddingBag):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, dim], rows of a bag summed.

    Rows begin uniform in +-`bound`, by default 1 / sqrt(cardinality) as in the published DLRM. An empty bag gives
    zeros. Rows are stored in the spec's dtype; float32 comes out.
    """

    def __init__(self, feature: Feature, spec: TableSpec, *, bound: float | None = None) -> None:
        dtype: torch.dtype = getattr(torch, spec.dtype)
        super().__init__(feature.cardinality, spec.dim, mode="sum", dtype=dtype)
        if bound is not None:
            nn.init.uniform_(self.weight, -bound, bound)

    def reset_parameters(self) -> None:
        """Draw the rows anew from torch's current generator."""
        bound = 1 / math.sqrt(self.num_embeddings)
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(  # type: ignore[override]  # one or several ids per sample; per-sample weights are not used
        self, ids_N: Tensor, offsets_B: Tensor | None = None
    ) -> Tensor:
        """Shape [B, dim]."""
        return super().forward(ids_N if offsets_B is not None else ids_N[:, None], offsets_B).float()
