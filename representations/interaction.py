"""How embeddings and dense features meet: pairwise dot products, or side by side.

Shape suffixes: B samples, V vectors, D their width.
"""

import torch
from torch import Tensor, nn

__all__ = ["Concat", "DotInteraction"]


class Concat(nn.Module):
    """[B, D1], [B, D2], ... -> [B, D1 + D2 + ...]."""

    def forward(self, *parts: Tensor) -> Tensor:
        """Shape [B, total width]."""
        return torch.cat(parts, dim=1)


class DotInteraction(nn.Module):
    """V vectors [B, D] -> their V (V - 1) / 2 dot products, after the first vector where `keep_first`.

    Computed as one batched product of all V x V pairs (Naumov et al., arXiv 1906.00091), of which the part above the
    diagonal is kept, row by row: pairs (0, 1), (0, 2), ..., (1, 2), ..., as torchrec orders them.
    """

    def __init__(self, *, keep_first: bool = True) -> None:
        super().__init__()
        self.keep_first = keep_first

    def forward(self, *vectors: Tensor) -> Tensor:
        """Shape [B, D + V (V - 1) / 2], or without the D."""
        count = len(vectors)
        stacked_BVD = torch.stack(vectors, dim=1)
        products_BVV = torch.bmm(stacked_BVD, stacked_BVD.transpose(1, 2))
        rows, columns = torch.triu_indices(count, count, offset=1, device=products_BVV.device)
        pairs_BP = products_BVV.flatten(1).index_select(1, rows * count + columns)
        return torch.cat((vectors[0], pairs_BP), dim=1) if self.keep_first else pairs_BP
