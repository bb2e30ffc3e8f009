"""A table with fewer rows than ids: rows shared by hash, or those of the most frequent ids kept.

Shape suffixes: N flat ids of bags, B samples, D floats, C ids of the feature.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from representations.datasets.dataset import Dataset
from representations.id_range import require_in_range
from representations.quotient_remainder import IdSplit
from representations.specs import Feature, ReducedTableSpec
from representations.table import EmbeddingTable

__all__ = ["ReducedTableEmbedding", "RowNumbers", "keep_frequent"]


class RowNumbers(nn.Module):
    """ids [N] -> the number of the row that each reads, [N]; ids in the order in which they came have rows at first."""

    numbers_C: Tensor

    def __init__(self, cardinality: int, rows: int) -> None:
        super().__init__()
        self.rows = rows
        self.register_buffer("numbers_C", torch.arange(cardinality, dtype=torch.int32).clamp_(max=rows - 1))

    def forward(self, ids_N: Tensor) -> Tensor:
        """Shape [N]."""
        return self.numbers_C[ids_N].to(torch.int64)

    def keep(self, counts_C: NDArray[np.int64]) -> None:
        """Give rows of their own to the most frequent ids, the smaller of equally frequent ones first."""
        order_C = np.argsort(-counts_C, kind="stable")
        numbers_C = np.full(len(counts_C), self.rows - 1, dtype=np.int32)
        kept = order_C[: self.rows - 1]
        numbers_C[kept] = np.arange(len(kept), dtype=np.int32)
        self.numbers_C.copy_(torch.from_numpy(numbers_C))


class ReducedTableEmbedding(nn.Module):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, D], rows of a bag summed.

    Ids beyond the feature's are refused on the CPU: most have rows, those of other ids.
    """

    def __init__(self, feature: Feature, spec: ReducedTableSpec) -> None:
        super().__init__()
        self.feature = feature
        if spec.kept_by == "frequency":
            self.numbers = RowNumbers(feature.cardinality, spec.rows)
        else:
            self.split = IdSplit(spec.rows)
        self.table = EmbeddingTable(spec.kept(feature), spec.table)

    def forward(self, ids_N: Tensor, offsets_B: Tensor | None = None) -> Tensor:
        """Shape [B, D]."""
        require_in_range(ids_N, offsets_B, self.feature)
        rows_N: Tensor = self.split(ids_N)[1] if hasattr(self, "split") else self.numbers(ids_N)
        summed_BD: Tensor = self.table(rows_N, offsets_B)
        return summed_BD


def keep_frequent(model: nn.Module, rows: Dataset) -> None:
    """Give the tables of a model that keep rows by frequency those of the ids that are most frequent in `rows`."""
    reduced = [module for module in model.modules() if isinstance(module, ReducedTableEmbedding)]
    columns = {feature.name: ids_N for feature, ids_N in zip(rows.features, rows.ids_NS.T, strict=True)}
    columns |= {column.feature.name: column.ids_L for column in rows.bags}
    for module in reduced:
        if hasattr(module, "numbers"):
            counts_C = np.bincount(columns[module.feature.name], minlength=module.feature.cardinality)
            module.numbers.keep(counts_C)
