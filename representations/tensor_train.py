"""A table as a chain of small tensors (TT-Rec, Yin et al., arXiv 2101.11714).

Shape suffixes: N flat ids of bags, U distinct ids, B samples, D floats; R, Q the inner sizes of the chain.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from representations.dhe.embedding import SumPool
from representations.id_range import require_in_range
from representations.specs import Feature, TensorTrainSpec

__all__ = ["TensorTrainCores", "TensorTrainEmbedding"]


class TensorTrainCores(nn.Module):
    """ids [N] -> rows [N, dim]: a matrix of each core per id, and their product.

    Entries begin normal, with the variance that gives a row's floats that of a plain table's. With `deduplicate` the
    ids are sorted first, and every distinct row and every distinct beginning of one is computed once; the result
    is the same.
    """

    def __init__(self, rows: int, core_shapes: Sequence[tuple[int, int, int]], dim: int) -> None:
        super().__init__()
        self.dim, self.deduplicate = dim, False
        self.radices = tuple(p for p, _, _ in core_shapes)
        paths = math.prod(before for _, before, _ in core_shapes)
        sigma = (1 / (3 * rows * paths)) ** (0.5 / len(core_shapes))
        for i, shape in enumerate(core_shapes):
            core = nn.Parameter(torch.empty(shape))
            nn.init.normal_(core, std=sigma)
            self.register_parameter(f"core_{i}", core)

    @property
    def cores(self) -> tuple[Tensor, ...]:
        """Core t holds p_t matrices [R_before, q_t x R_after]."""
        return tuple(self.get_parameter(f"core_{i}") for i in range(len(self.radices)))

    def forward(self, ids_N: Tensor) -> Tensor:
        """Shape [N, dim]."""
        if self.deduplicate:
            distinct_U, inverse_N = torch.unique(ids_N, return_inverse=True)
            return functional.embedding(inverse_N, self._distinct_rows(distinct_U))
        digits = self._digits(ids_N)
        left = _matrices(self.cores[0], digits[0])
        for core, digit_N in zip(self.cores[1:], digits[1:], strict=True):
            left = _extended(left, core, digit_N)
        return left.reshape(-1, self.dim)

    def extra_repr(self) -> str:
        """What a printed model shows."""
        return f"{math.prod(self.radices)} rows as {' x '.join(map(str, self.radices))}, dim={self.dim}"

    def _digits(self, ids_N: Tensor) -> list[Tensor]:
        """The ids in mixed radix, most significant digit first."""
        digits = []
        for radix in self.radices[:0:-1]:
            rest_N = ids_N // radix
            digits.append(ids_N - rest_N * radix)
            ids_N = rest_N
        return [ids_N, *digits[::-1]]

    def _distinct_rows(self, ids_U: Tensor) -> Tensor:
        """Rows of ascending ids: at each core, beginnings that are alike lie side by side and are extended once."""
        parents: list[Tensor] = []
        digits: list[Tensor] = []
        for radix in self.radices[:0:-1]:
            prefix_U = ids_U // radix
            digits.append(ids_U - prefix_U * radix)
            ids_U, parent_U = torch.unique_consecutive(prefix_U, return_inverse=True)
            parents.append(parent_U)
        left = _matrices(self.cores[0], ids_U)
        for core, digit_U, parent_U in zip(self.cores[1:], digits[::-1], parents[::-1], strict=True):
            left = _extended(functional.embedding(parent_U, left.flatten(1)).view(-1, *left.shape[1:]), core, digit_U)
        return left.reshape(-1, self.dim)


class TensorTrainEmbedding(nn.Module):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, dim].

    Ids beyond the feature's are refused on the CPU: the cores have rows for some.
    """

    def __init__(self, feature: Feature, spec: TensorTrainSpec) -> None:
        super().__init__()
        self.feature = feature
        self.cores = TensorTrainCores(feature.cardinality, spec.core_shapes(feature), spec.dim)
        self.pool = SumPool()

    def forward(self, ids_N: Tensor, offsets_B: Tensor | None = None) -> Tensor:
        """Shape [B, dim]."""
        require_in_range(ids_N, offsets_B, self.feature)
        rows_ND: Tensor = self.cores(ids_N)
        if offsets_B is None:
            return rows_ND
        pooled_BD: Tensor = self.pool(rows_ND, offsets_B)
        return pooled_BD


def _matrices(core: Tensor, digit_N: Tensor) -> Tensor:
    """[N, R, Q]: the core's matrix of each digit."""
    return functional.embedding(digit_N, core.flatten(1)).view(-1, *core.shape[1:])


def _extended(left: Tensor, core: Tensor, digit_N: Tensor) -> Tensor:
    """[N, q R, Q]: the chains so far, each times its matrix of the next core."""
    rank = core.shape[1]
    chains_NqR = left.reshape(len(left), left.shape[1] * left.shape[2] // rank, rank)
    return torch.bmm(chains_NqR, _matrices(core, digit_N))
