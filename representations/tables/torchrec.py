"""Tables in torchrec's `EmbeddingBagCollection`, unsharded: one call, inside which every table is read by itself.

Shape suffixes: B samples, W the widths of all tables together, R rows, D floats of a row.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from representations.bags import Bag, jagged_of
from representations.specs import Feature, TableSpec
from representations.tables.group import TableGroup
from representations.tracing_notice import silence_tracing_notice

__all__ = ["TorchrecTables"]


class TorchrecTables(TableGroup):
    """A `TableGroup` whose gradients are ordinary ones."""

    def __init__(self, features: Sequence[Feature], specs: Sequence[TableSpec]) -> None:
        from torchrec.modules.embedding_configs import DataType, EmbeddingBagConfig
        from torchrec.modules.embedding_modules import EmbeddingBagCollection

        silence_tracing_notice()
        super().__init__(features, specs)
        dtypes = {"float32": DataType.FP32, "float16": DataType.FP16}
        self.names = [f"table_{i}" for i in range(len(features))]
        self.collection = EmbeddingBagCollection(
            tables=[
                EmbeddingBagConfig(
                    name=name,
                    num_embeddings=feature.cardinality,
                    embedding_dim=spec.dim,
                    feature_names=[name],
                    data_type=dtypes[spec.dtype],
                )
                for name, feature, spec in zip(self.names, features, specs, strict=True)
            ],
            device=torch.get_default_device(),
        )
        self._draw_rows()

    def forward(self, bags: Sequence[Bag]) -> Tensor:
        """Shape [B, W]."""
        rows_BW: Tensor = self.collection(jagged_of(bags, self.names)).values()
        return rows_BW.float()

    def read_rows(self, table: int) -> Tensor:
        """Shape [R, D]."""
        return self._weight(table).detach().float()

    def write_rows(self, table: int, rows_RD: Tensor, first: int = 0) -> None:
        """Copy the rows in."""
        with torch.no_grad():
            self._weight(table)[first : first + len(rows_RD)].copy_(rows_RD)

    def _weight(self, table: int) -> Tensor:
        weight: Tensor = self.collection.embedding_bags[self.names[table]].weight
        return weight
