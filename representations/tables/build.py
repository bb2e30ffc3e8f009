"""The module of one table, or of several that a back end looks up together."""

from collections.abc import Callable, Mapping, Sequence

from torch import nn

from profiles.errors import InputError
from representations.specs import Feature, TableBackend, TableSpec
from representations.table import EmbeddingTable
from representations.tables.fbgemm import FbgemmTables
from representations.tables.group import GroupTable, TableGroup
from representations.tables.quantised import QuantisedTables
from representations.tables.torchrec import TorchrecTables

__all__ = ["build_group", "build_table"]

_GROUPS: Mapping[TableBackend, Callable[[Sequence[Feature], Sequence[TableSpec]], TableGroup]] = {
    "torchrec": TorchrecTables,
    "fbgemm": FbgemmTables,
    "quantised": QuantisedTables,
}


def build_group(features: Sequence[Feature], specs: Sequence[TableSpec]) -> TableGroup:
    """One module for all tables, which must be alike in back end and dtype; weights come from torch's generator."""
    kinds = sorted({(spec.backend, spec.dtype) for spec in specs})
    if len(kinds) != 1 or kinds[0][0] not in _GROUPS:
        raise InputError(f"tables: a group needs one dtype and one of the back ends {list(_GROUPS)}, but got {kinds}")
    return _GROUPS[kinds[0][0]](features, specs)


def build_table(feature: Feature, spec: TableSpec) -> nn.Module:
    """The module of one table: ids [B], or flat ids [N] and offsets [B], -> [B, dim]."""
    if spec.backend == "torch":
        return EmbeddingTable(feature, spec)
    return GroupTable(build_group((feature,), (spec,)))
