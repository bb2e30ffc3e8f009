"""What torchrec's own models run beside layers and tables, as modules that can be measured alone.

Tensors come as they do there: ids as lengths and values, of which a `KeyedJaggedTensor` is made in every call, and
embeddings as views of one tensor. Shape suffixes: B samples, N ids, L bags of all features, F features, D floats of a
row, W floats of all vectors.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from representations.tables.torchrec import TorchrecTables

__all__ = ["JaggedTables", "JoinedViews", "MachineOfViews", "dot_interaction", "jagged_inputs"]


class JaggedTables(nn.Module):
    """A collection of tables, asked with the ids of a request."""

    def __init__(self, tables: TorchrecTables) -> None:
        super().__init__()
        self.tables = tables

    def forward(self, values_N: Tensor, lengths_L: Tensor) -> Any:
        """A `KeyedTensor` of all embeddings."""
        from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

        ids = KeyedJaggedTensor(keys=self.tables.names, values=values_N, lengths=lengths_L)
        return self.tables.collection(ids)


class JoinedViews(nn.Module):
    """Views of one tensor, side by side in another."""

    def __init__(self, widths: Sequence[int]) -> None:
        super().__init__()
        self.widths = list(widths)

    def forward(self, joined_BW: Tensor) -> Tensor:
        """Shape [B, W]."""
        return torch.cat(torch.split(joined_BW, self.widths, dim=1), dim=1)


class MachineOfViews(nn.Module):
    """Torchrec's factorization machine, which joins the vectors for itself."""

    def __init__(self, widths: Sequence[int]) -> None:
        from torchrec.modules.deepfm import FactorizationMachine

        super().__init__()
        self.widths = list(widths)
        self.machine = FactorizationMachine()

    def forward(self, joined_BW: Tensor) -> Tensor:
        """Shape [B, 1]."""
        pairs_B1: Tensor = self.machine(list(torch.split(joined_BW, self.widths, dim=1)))
        return pairs_B1


def dot_interaction(features: int) -> nn.Module:
    """Torchrec's: [B, D], [B, F, D] -> [B, D + F + F (F - 1) / 2]."""
    from torchrec.models.dlrm import InteractionArch

    module: nn.Module = InteractionArch(num_sparse_features=features)
    return module


def jagged_inputs(bags: Sequence[tuple[Tensor, ...]], samples: int) -> tuple[Tensor, Tensor]:
    """Values [N] and lengths [L] of bags, one feature after another."""
    lengths = [_lengths(bag, samples) for bag in bags]
    return torch.cat([bag[0] for bag in bags]), torch.cat(lengths)


def _lengths(bag: tuple[Tensor, ...], samples: int) -> Tensor:
    if len(bag) == 1:
        return torch.ones(samples, dtype=torch.int64)
    end = torch.tensor([len(bag[0])], dtype=bag[1].dtype)
    return torch.diff(bag[1], append=end)
