"""The embedding table: one learned row per id."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from representations.specs import Feature, TableSpec

__all__ = ["EmbeddingTable", "summed_rows"]


class EmbeddingTable(nn.EmbeddingBag):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, dim], rows of a bag summed.

    Rows begin uniform in +-`bound`, by default 1 / sqrt(cardinality) as in the published DLRM. An empty bag gives
    zeros. Rows are stored in the spec's dtype, summed in float32, and float32 comes out.
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
        if offsets_B is not None and self.weight.dtype != torch.float32:
            return summed_rows(ids_N, self.weight, offsets_B, sparse=self.sparse)
        return super().forward(ids_N if offsets_B is not None else ids_N[:, None], offsets_B).float()


def summed_rows(ids_N: Tensor, weight_RD: Tensor, offsets_B: Tensor, *, sparse: bool) -> Tensor:
    """The rows [B, D] of bags, summed in float32 whatever the rows' own dtype: sums of float16 soon overflow."""
    if weight_RD.dtype == torch.float32:
        return functional.embedding_bag(ids_N, weight_RD, offsets_B, mode="sum", sparse=sparse)
    rows_ND = functional.embedding(ids_N, weight_RD, sparse=sparse).float()
    return functional.embedding_bag(torch.arange(len(ids_N), device=ids_N.device), rows_ND, offsets_B, mode="sum")
