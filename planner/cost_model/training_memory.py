"""Memory of a training step: parameters, gradients, the optimizers' state, and what a backward pass needs kept."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from planner.cost_model.activation_sizes import float_bytes, id_bytes, ids_of, layer_bytes, lookup_bytes, pool_bytes
from profiles.errors import UnknownNameError
from representations.specs import (
    BYTES_PER_FLOAT,
    BYTES_PER_HASH,
    BYTES_PER_ROW_NUMBER,
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    MixedDimensionSpec,
    ModelSpec,
    QuotientRemainderSpec,
    ReducedTableSpec,
    RobeSpec,
    TableSpec,
    TensorTrainSpec,
)
from representations.work import BYTES_PER_ID
from representations.zipf import expected_distinct

__all__ = ["DenseOptimizer", "TrainingMemory", "training_memory"]

DenseOptimizer = Literal["sgd", "adagrad", "adam"]
_STATES = {"sgd": 0, "adagrad": 1, "adam": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingMemory:
    """Bytes of a training step, at the end of its forward pass (activations) and of its backward pass (gradients)."""

    parameter_bytes: int
    gradient_bytes: int
    optimizer_bytes: int
    activation_bytes: int

    @property
    def peak_bytes(self) -> int:
        """All of them: gradients come while activations go, so that no more than this is alive at once."""
        return self.parameter_bytes + self.gradient_bytes + self.optimizer_bytes + self.activation_bytes


def training_memory(spec: ModelSpec, batch: int, *, dense_optimizer: DenseOptimizer = "adam") -> TrainingMemory:
    """A training step with sparse gradients of tables under row-wise Adagrad, and a dense optimizer for all else.

    Row-wise Adagrad keeps a float per row, Adagrad one per parameter, Adam two. Hash functions, running statistics and
    row numbers are not trained. Ids are taken to be uniform, which touches the most rows.

    Raises:
        UnknownNameError: an optimizer that is none of these.
    """
    if dense_optimizer not in _STATES:
        raise UnknownNameError("training: dense optimizer", dense_optimizer, _STATES)
    pairs = list(zip(spec.features, spec.embeddings, strict=True))
    tables = [table for pair in pairs for table in _tables(*pair)]
    table_bytes = sum(table.parameter_bytes(feature) for feature, table in tables)
    hash_bytes = {one.shared_bytes - one.floats * BYTES_PER_FLOAT for _, one in pairs if isinstance(one, RobeSpec)}
    untrained_bytes = sum(_untrained_bytes(*pair) for pair in pairs) + sum(hash_bytes)
    dense_bytes = spec.parameter_bytes - table_bytes - untrained_bytes
    touched = [(expected_distinct(f.cardinality, 0.0, ids_of(f, batch)), table) for f, table in tables]
    sparse_bytes = sum(round(rows * (table.row_bytes + BYTES_PER_ID)) for rows, table in touched)
    rows_bytes = sum(feature.cardinality for feature, _ in tables) * BYTES_PER_FLOAT
    return TrainingMemory(
        parameter_bytes=spec.parameter_bytes,
        gradient_bytes=dense_bytes + sparse_bytes,
        optimizer_bytes=_STATES[dense_optimizer] * dense_bytes + rows_bytes,
        activation_bytes=_kept_bytes(spec, batch),
    )


def _tables(feature: Feature, spec: EmbeddingSpec) -> list[tuple[Feature, TableSpec]]:
    """The tables within an embedding, each with the feature as it sees it: these get sparse gradients."""
    plain = _plain_table(feature, spec)
    if plain is not None:
        return [(feature, plain)]
    if isinstance(spec, HybridSpec):
        return [(feature, spec.table)]
    if isinstance(spec, MixedDimensionSpec):
        return [(feature, TableSpec(dim=spec.inner_dim))]
    if isinstance(spec, ReducedTableSpec):
        return [(spec.kept(feature), spec.table)]
    if isinstance(spec, QuotientRemainderSpec):
        parts = [Feature(name=feature.name, cardinality=rows, pooling=feature.pooling) for rows in spec.rows(feature)]
        return [(part, TableSpec(dim=spec.dim)) for part in parts]
    return []


def _plain_table(feature: Feature, spec: EmbeddingSpec) -> TableSpec | None:
    """The one table that an embedding is, where it is no more than that."""
    if isinstance(spec, QuotientRemainderSpec) and spec.is_plain(feature):
        return TableSpec(dim=spec.width)
    if isinstance(spec, MixedDimensionSpec) and not spec.has_projection:
        return TableSpec(dim=spec.dim)
    return spec if isinstance(spec, TableSpec) else None


def _untrained_bytes(feature: Feature, spec: EmbeddingSpec) -> int:
    """Buffers among the parameter bytes."""
    dhe = spec.dhe if isinstance(spec, HybridSpec) else spec
    if isinstance(dhe, DheSpec):
        statistics = sum(2 * width * BYTES_PER_FLOAT + 8 for width in dhe.widths) if dhe.norm == "batch" else 0
        return BYTES_PER_HASH * dhe.k + statistics
    if isinstance(spec, ReducedTableSpec) and spec.kept_by == "frequency":
        return BYTES_PER_ROW_NUMBER * feature.cardinality
    return 0


def _kept_bytes(spec: ModelSpec, batch: int) -> int:
    """What a backward pass needs of a forward pass: outputs of ReLUs, inputs of layers, factors of products, ids."""
    stems = ("bottom_mlp", "deep_mlp", "top_mlp")
    kept = sum(sum(layer_bytes(spec, stem, batch)) for stem in stems) + float_bytes(batch, spec.interaction_width)
    if spec.interaction != "concat":
        kept += float_bytes(batch, spec.vectors_width)
    pairs = list(zip(spec.features, spec.embeddings, strict=True))
    # Ids come as one array where each sample has one of every feature: a look-up of one feature keeps all of it.
    is_array = all(feature.pooling == 1 for feature in spec.features)
    if is_array and any(_keeps_ids(*pair) for pair in pairs):
        kept += id_bytes(batch * len(pairs))
    return kept + sum(_kept_of(feature, embedding, batch) for feature, embedding in pairs)


def _keeps_ids(feature: Feature, spec: EmbeddingSpec) -> bool:
    """Whether a table is looked up by the ids themselves, not by what was made of them."""
    table = spec.table if isinstance(spec, HybridSpec) else _plain_table(feature, spec)
    return isinstance(spec, MixedDimensionSpec) or (table is not None and table.backend == "torch")


def _kept_of(feature: Feature, spec: EmbeddingSpec, batch: int) -> int:
    plain = _plain_table(feature, spec)
    return _table(feature, plain, batch) if plain is not None else _KEPT[type(spec)](feature, spec, batch)


def _table(feature: Feature, spec: TableSpec, batch: int) -> int:
    ids, is_single = ids_of(feature, batch), feature.pooling == 1
    if spec.backend != "torch":
        # The ids of all tables together, and where their bags begin.
        return id_bytes(ids) + lookup_bytes(batch, is_single=True)
    is_widened = spec.dtype != "float32" and not is_single
    return lookup_bytes(batch, is_single=is_single) + (id_bytes(ids) if is_widened else 0)


def _dhe(feature: Feature, spec: DheSpec, batch: int) -> int:
    """The encodings, and per hidden layer what its function reads or gave, what a norm read, what the next reads."""
    ids, per_layer = ids_of(feature, batch), (2 if spec.activation == "mish" else 1) + (spec.norm == "batch")
    return float_bytes(ids, spec.k + per_layer * sum(spec.widths)) + pool_bytes(feature, batch)


def _hybrid(feature: Feature, spec: HybridSpec, batch: int) -> int:
    return _table(feature, spec.table, batch) + _dhe(feature, spec.dhe, batch)


def _quotient_remainder(feature: Feature, spec: QuotientRemainderSpec, batch: int) -> int:
    """Quotients and remainders, and of a product both factors."""
    ids, is_product = ids_of(feature, batch), spec.operation == "mult"
    is_single = is_product or feature.pooling == 1
    kept = 2 * (id_bytes(ids) + lookup_bytes(ids if is_single else batch, is_single=is_single))
    return kept + (2 * float_bytes(ids, spec.dim) + pool_bytes(feature, batch) if is_product else 0)


def _mixed_dimension(feature: Feature, spec: MixedDimensionSpec, batch: int) -> int:
    return _table(feature, TableSpec(dim=spec.inner_dim), batch) + float_bytes(batch, spec.inner_dim)


def _reduced_table(feature: Feature, spec: ReducedTableSpec, batch: int) -> int:
    return id_bytes(ids_of(feature, batch)) + _table(feature, spec.table, batch)


def _tensor_train(feature: Feature, spec: TensorTrainSpec, batch: int) -> int:
    """The digits of all ids, and both factors of every product."""
    ids, shapes = ids_of(feature, batch), spec.core_shapes(feature)
    chain, factors = math.prod(shapes[0][1:]), 0
    for _, rank, width in shapes[1:]:
        factors += chain + rank * width
        chain = chain // rank * width
    return id_bytes(len(shapes) * ids) + float_bytes(ids, factors) + pool_bytes(feature, batch)


def _robe(feature: Feature, spec: RobeSpec, batch: int) -> int:
    """The place of every float that was read."""
    return id_bytes(ids_of(feature, batch) * spec.dim) + pool_bytes(feature, batch)


_KEPT: Mapping[type[EmbeddingSpec], Callable[[Feature, Any, int], int]] = {
    DheSpec: _dhe,
    HybridSpec: _hybrid,
    QuotientRemainderSpec: _quotient_remainder,
    MixedDimensionSpec: _mixed_dimension,
    ReducedTableSpec: _reduced_table,
    TensorTrainSpec: _tensor_train,
    RobeSpec: _robe,
}
