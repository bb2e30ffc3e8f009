"""A deep hash embedding as a drop-in for a table: encoder, decoder, and a sum over each sample's ids."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from representations.dhe.decoder import build_decoder
from representations.dhe.encoder import DheEncoder
from representations.specs import DheSpec, Feature

__all__ = ["DheEmbedding", "SumPool", "set_deduplication"]


class SumPool(nn.Module):
    """Sums rows [N, D] over bags that begin at offsets [B] -> [B, D]."""

    def forward(self, rows_ND: Tensor, offsets_B: Tensor) -> Tensor:
        """Shape [B, D]."""
        order_N = torch.arange(len(rows_ND), device=rows_ND.device)
        return functional.embedding_bag(order_N, rows_ND, offsets_B, mode="sum")


class DheEmbedding(nn.Module):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, dim].

    With `deduplicate`, every distinct id goes through the stack once: the same result, and much less work in a
    training batch. Batch statistics would change, so that a BatchNorm in training sees all ids all the same.
    """

    def __init__(self, feature: Feature, spec: DheSpec, seed: int = 0) -> None:
        super().__init__()
        self.encoder = DheEncoder(spec.k, feature.cardinality, transform=spec.transform, seed=seed)
        self.decoder = build_decoder(spec)
        self.pool = SumPool()
        self.has_batch_norm = spec.norm == "batch"
        self.deduplicate = False

    def forward(self, ids_N: Tensor, offsets_B: Tensor | None = None) -> Tensor:
        """Shape [B, dim]."""
        if self.deduplicate and not (self.training and self.has_batch_norm):
            distinct_U, inverse_N = torch.unique(ids_N, return_inverse=True)
            rows_UD = self.decoder(self.encoder(distinct_U))
            if offsets_B is None:
                return functional.embedding(inverse_N, rows_UD)
            return functional.embedding_bag(inverse_N, rows_UD, offsets_B, mode="sum")
        rows_ND: Tensor = self.decoder(self.encoder(ids_N))
        if offsets_B is None:
            return rows_ND
        pooled_BD: Tensor = self.pool(rows_ND, offsets_B)
        return pooled_BD


def set_deduplication(model: nn.Module, *, enabled: bool) -> None:
    """Switch deduplication of every DHE in the model."""
    for module in model.modules():
        if isinstance(module, DheEmbedding):
            module.deduplicate = enabled
