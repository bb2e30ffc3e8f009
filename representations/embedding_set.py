"""All embeddings of a model: one module per feature, but what features share or look up together only once.

Shape suffixes: B samples, D floats of an embedding.
"""

from collections.abc import Mapping
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from profiles.errors import InputError
from representations.bags import Bag, Ids, bags_of
from representations.embedding import build_embedding
from representations.id_range import require_in_range
from representations.robe import RobeArray, RobeEmbedding
from representations.specs import ModelSpec, RobeSpec, TableSpec, table_groups
from representations.table import EmbeddingTable
from representations.tables.build import build_group
from representations.tables.group import TableGroup

__all__ = ["EmbeddingSet"]


class EmbeddingSet(nn.Module):
    """Ids of all features -> one vector [B, width] per feature.

    Feature i is the child `i`, unless its table belongs to a group (`table_groups`), which is looked up in one call.
    ROBE features read the child `robe`. `seed` draws the hash functions, a different set per feature.

    On the CPU and outside of compilation an id out of range is an `InputError` that names feature, row and value;
    `check_inputs` says it anywhere.
    """

    def __init__(self, spec: ModelSpec, seed: int = 0) -> None:
        super().__init__()
        self.features = spec.features
        self.names = tuple(feature.name for feature in spec.features)
        self.group_positions: Mapping[str, tuple[int, ...]] = table_groups(spec)
        grouped = {i for positions in self.group_positions.values() for i in positions}
        offsets = spec.robe_offsets
        for i, (feature, embedding) in enumerate(zip(spec.features, spec.embeddings, strict=True)):
            if isinstance(embedding, RobeSpec):
                array = self._shared_array(embedding, spec, seed)
                self.add_module(str(i), RobeEmbedding(feature, embedding, array, offsets[feature.name]))
            elif i not in grouped:
                self.add_module(str(i), build_embedding(feature, embedding, _feature_seed(seed, i)))
        for name, positions in self.group_positions.items():
            tables = [embedding for i in positions if isinstance(embedding := spec.embeddings[i], TableSpec)]
            self.add_module(name, build_group([spec.features[i] for i in positions], tables))

    def forward(self, ids: Ids) -> list[Tensor]:
        """Shapes [B, width of the feature], in the features' order."""
        bags = bags_of(ids, self.names)
        if torch.compiler.is_compiling():
            return self._look_up(bags)
        try:
            return self._look_up(bags)
        except (IndexError, RuntimeError, InputError):
            for feature, (ids_N, *offsets) in zip(self.features, bags, strict=True):
                require_in_range(ids_N, offsets[0] if offsets else None, feature)
            raise

    def _look_up(self, bags: list[Bag]) -> list[Tensor]:
        vectors: dict[int, Tensor] = {}
        for name, positions in self.group_positions.items():
            vectors |= self._grouped(name, positions, bags)
        return [vectors[i] if i in vectors else self[i](*bag) for i, bag in enumerate(bags)]

    def __getitem__(self, position: int) -> nn.Module:
        """The module of one feature that belongs to no group."""
        return self.get_submodule(str(position))

    def read_table(self, position: int) -> Tensor:
        """The rows of a feature's plain table as float32 [rows, D], whatever reads it.

        Raises:
            InputError: the feature has no plain table.
        """
        found = self._table_of(position)
        return found.weight.detach().float() if isinstance(found, EmbeddingTable) else found[0].read_rows(found[1])

    def write_table(self, position: int, rows: Tensor) -> None:
        """Replace the rows of a feature's plain table, rounded to its dtype."""
        found = self._table_of(position)
        if isinstance(found, EmbeddingTable):
            with torch.no_grad():
                found.weight.copy_(rows)
        else:
            found[0].write_rows(found[1], rows)

    def _grouped(self, name: str, positions: tuple[int, ...], bags: list[Bag]) -> dict[int, Tensor]:
        group = self._group(name)
        rows_BW: Tensor = group([bags[i] for i in positions])
        return dict(zip(positions, torch.split(rows_BW, list(group.widths), dim=1), strict=True))

    def _group(self, name: str) -> TableGroup:
        return cast("TableGroup", self.get_submodule(name))

    def _table_of(self, position: int) -> EmbeddingTable | tuple[TableGroup, int]:
        for name, positions in self.group_positions.items():
            if position in positions:
                return self._group(name), positions.index(position)
        module = self[position]
        if not isinstance(module, EmbeddingTable):
            raise InputError(f"feature {self.names[position]!r}: has no plain table, but {type(module).__name__}")
        return module

    def _shared_array(self, embedding: RobeSpec, spec: ModelSpec, seed: int) -> RobeArray:
        if "robe" not in self._modules:
            rows = sum(f.cardinality for f in spec.features if f.name in spec.robe_offsets)
            self.add_module("robe", RobeArray(embedding, rows, seed))
        return cast("RobeArray", self.get_submodule("robe"))


def _feature_seed(seed: int, position: int) -> int:
    return int(np.random.SeedSequence((seed, position)).generate_state(1)[0])
