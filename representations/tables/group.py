"""What every back end for several tables at once gives.

Shape suffixes: B samples, W the widths of all tables together, R rows, D floats of a row.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from representations.bags import Bag
from representations.specs import Feature, TableSpec

__all__ = ["GroupTable", "TableGroup"]

# Numbers; small enough that the allocator keeps little of it.
_DRAWN_AT_ONCE = 2**16


class TableGroup(nn.Module):
    """Tables alike in back end and dtype, looked up by one call. Rows of a bag are summed; an empty one gives zeros."""

    def __init__(self, features: Sequence[Feature], specs: Sequence[TableSpec]) -> None:
        super().__init__()
        self.features, self.specs = tuple(features), tuple(specs)
        self.widths = tuple(spec.width for spec in specs)

    @abstractmethod
    def forward(self, bags: Sequence[Bag]) -> Tensor:
        """One bag list per table -> [B, W], float32, in the tables' order."""

    @abstractmethod
    def read_rows(self, table: int) -> Tensor:
        """The rows of a table [R, D] as float32."""

    @abstractmethod
    def write_rows(self, table: int, rows_RD: Tensor, first: int = 0) -> None:
        """Replace rows of a table, from row `first` on, rounded to its dtype."""

    def extra_repr(self) -> str:
        """What a printed model shows."""
        return f"{len(self.specs)} tables of {sum(feature.cardinality for feature in self.features)} rows"

    def _draw_rows(self) -> None:
        """Every table uniform in +-1 / sqrt(rows), from torch's current generator.

        In blocks: as float32, all rows of an int8 table would take four times its bytes.
        """
        for i, (feature, spec) in enumerate(zip(self.features, self.specs, strict=True)):
            bound = 1 / math.sqrt(feature.cardinality)
            block = max(1, _DRAWN_AT_ONCE // spec.dim)
            for first in range(0, feature.cardinality, block):
                rows = min(block, feature.cardinality - first)
                self.write_rows(i, torch.empty(rows, spec.dim).uniform_(-bound, bound), first)


class GroupTable(nn.Module):
    """A group of one, called as any embedding: ids [B], or flat ids [N] and offsets [B], -> [B, dim]."""

    def __init__(self, group: TableGroup) -> None:
        super().__init__()
        self.group = group

    def forward(self, ids_N: Tensor, offsets_B: Tensor | None = None) -> Tensor:
        """Shape [B, dim]."""
        rows_BD: Tensor = self.group([(ids_N,) if offsets_B is None else (ids_N, offsets_B)])
        return rows_BD
