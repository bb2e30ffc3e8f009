"""The tables of a torchrec model, as sharding sees them."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn
from torchrec.modules.embedding_configs import DataType
from torchrec.modules.embedding_modules import EmbeddingBagCollection

from planner.distributed.tables import EmbeddingTable, TableDtype, TableOptimizer, require_unique_names
from profiles.errors import InputError

__all__ = ["module_tables", "table_modules"]

_DTYPE_OF: Mapping[Any, TableDtype] = {
    DataType.FP32: "float32",
    DataType.FP16: "float16",
    DataType.BF16: "bfloat16",
    DataType.INT8: "int8",
}


def module_tables(
    model: nn.Module,
    *,
    pooling: Mapping[str, float] | None = None,
    optimizer: TableOptimizer = "rowwise_adagrad",
) -> tuple[EmbeddingTable, ...]:
    """Every table of every `EmbeddingBagCollection` in the model, which may lie on the meta device.

    `pooling` gives the ids per sample of a table that is not looked up with one; a table that several features share
    is looked up by each of them. torchrec keeps neither figure, nor the optimizer.

    Raises:
        InputError: no such collection, a type of weights that cannot be trained, a name that comes twice, or pooling of
            a table that the model does not have.
    """
    given = dict(pooling or {})
    tables = tuple(
        EmbeddingTable(
            name=config.name,
            rows=config.num_embeddings,
            dim=config.embedding_dim,
            pooling=given.pop(config.name, 1.0) * len(config.feature_names),
            dtype=_dtype(config),
            optimizer=optimizer,
        )
        for _, config in _configs(model)
    )
    if not tables:
        raise InputError("model: holds no torchrec EmbeddingBagCollection")
    if given:
        raise InputError(f"pooling: the model has no table {', '.join(sorted(map(repr, given)))}")
    require_unique_names(tables)
    return tables


def table_modules(model: nn.Module) -> dict[str, str]:
    """The path of the module that holds each table, by table."""
    return {config.name: path for path, config in _configs(model)}


def _configs(model: nn.Module) -> Iterator[tuple[str, Any]]:
    for path, module in model.named_modules():
        if isinstance(module, EmbeddingBagCollection):
            for config in module.embedding_bag_configs():
                yield path, config


def _dtype(config: Any) -> TableDtype:
    if config.data_type not in _DTYPE_OF:
        raise InputError(f"table {config.name}: data_type: {config.data_type.name} cannot be trained")
    return _DTYPE_OF[config.data_type]
