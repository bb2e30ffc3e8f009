"""Rows read in hashed blocks from one array that all features share (ROBE, Desai et al., arXiv 2108.02191).

Shape suffixes: N flat ids of bags, B samples, D floats, J blocks of a row, Z floats of a block.
"""

import numpy as np
import torch
from torch import Tensor, nn

from representations.dhe.embedding import SumPool
from representations.id_range import require_in_range
from representations.specs import ROBE_PRIME, Feature, RobeSpec

__all__ = ["RobeArray", "RobeEmbedding", "RobeRows"]


class RobeArray(nn.Module):
    """The array of a model's ROBE features and the coefficients A, B, C of its hash. It is read, never called.

    Floats begin uniform in +-1 / sqrt(rows), as those of a table of all features' rows.
    """

    coefficients: Tensor

    def __init__(self, spec: RobeSpec, rows: int, seed: int = 0) -> None:
        super().__init__()
        rng = np.random.default_rng(seed)
        a, (b, c) = rng.integers(1, ROBE_PRIME), rng.integers(0, ROBE_PRIME, 2)
        self.register_buffer("coefficients", torch.tensor([int(a), int(b), int(c)]))
        self.weight = nn.Parameter(torch.empty(spec.floats))
        nn.init.uniform_(self.weight, -(rows**-0.5), rows**-0.5)


class RobeRows(nn.Module):
    """ids [N] -> rows [N, dim] of the shared array; `offset` is how many rows the features before have.

    The array belongs to the model, not to this module: it does not show among its parameters.
    """

    def __init__(self, spec: RobeSpec, array: RobeArray, offset: int) -> None:
        super().__init__()
        self.spec, self.offset = spec, offset
        # In a tuple, where torch does not look for submodules.
        self._array = (array,)

    def forward(self, ids_N: Tensor) -> Tensor:
        """Shape [N, dim]: one gather at hashed places."""
        (array,) = self._array
        dim, block = self.spec.dim, self.spec.block
        a, b, c = array.coefficients
        blocks_J = torch.arange(-(-dim // block), device=ids_N.device)
        hashed_NJ = ((ids_N + self.offset) * a)[:, None] + (blocks_J * b + c)
        begins_NJ = hashed_NJ.remainder_(ROBE_PRIME).remainder_(self.spec.floats - block + 1)
        places_NJZ = begins_NJ[:, :, None] + torch.arange(block, device=ids_N.device)
        places_ND = places_NJZ.flatten(1)[:, :dim]
        return array.weight.index_select(0, places_ND.reshape(-1)).view(-1, dim)

    def extra_repr(self) -> str:
        """What a printed model shows."""
        return f"floats={self.spec.floats}, block={self.spec.block}, dim={self.spec.dim}, offset={self.offset}"


class RobeEmbedding(nn.Module):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, dim].

    Ids beyond the feature's are refused on the CPU: any integer has a place in the array.
    """

    def __init__(self, feature: Feature, spec: RobeSpec, array: RobeArray, offset: int) -> None:
        super().__init__()
        self.feature = feature
        self.rows = RobeRows(spec, array, offset)
        self.pool = SumPool()

    def forward(self, ids_N: Tensor, offsets_B: Tensor | None = None) -> Tensor:
        """Shape [B, dim]."""
        require_in_range(ids_N, offsets_B, self.feature)
        rows_ND: Tensor = self.rows(ids_N)
        if offsets_B is None:
            return rows_ND
        pooled_BD: Tensor = self.pool(rows_ND, offsets_B)
        return pooled_BD
