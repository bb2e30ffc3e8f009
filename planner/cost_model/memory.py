"""Memory of a model: parameter bytes, and what its activations take at most beside them.

A forward pass is followed in execution order. What a layer reads lives as long as the layer runs, what a stack of
layers reads as long as the stack, every embedding until the last layer has run (the model holds the list of them), and
what a component takes for itself as long as it runs. Without gradients nothing else is kept.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.cost_model.activation_sizes import float_bytes, id_bytes, ids_of, layer_bytes, lookup_bytes, pool_bytes
from representations.specs import (
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

__all__ = ["DenseMemory", "ModelMemory", "dense_memory", "embedding_peak_bytes", "forward_memory"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelMemory:
    """Bytes of a forward pass: parameters, and activations at their peak; the model's inputs are left out."""

    parameter_bytes: int
    activation_bytes: int

    @property
    def peak_bytes(self) -> int:
        """Both."""
        return self.parameter_bytes + self.activation_bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class DenseMemory:
    """Bytes of a forward pass beside the embeddings: what the bottom MLP gives and takes at most, the ids, and what
    interaction and top MLP take at most beside what the embeddings gave.
    """

    bottom_bytes: int
    bottom_peak_bytes: int
    ids_bytes: int
    after_peak_bytes: int


def forward_memory(spec: ModelSpec, batch: int) -> ModelMemory:
    """The peak of one forward pass without gradients."""
    dense = dense_memory(spec, batch)
    held, peak = dense.bottom_bytes + dense.ids_bytes, dense.bottom_peak_bytes
    for feature, embedding in zip(spec.features, spec.embeddings, strict=True):
        peak = max(peak, held + embedding_peak_bytes(feature, embedding, batch))
        held += float_bytes(batch, embedding.width)
    peak = max(peak, held - dense.ids_bytes + dense.after_peak_bytes)
    return ModelMemory(parameter_bytes=spec.parameter_bytes, activation_bytes=peak)


def embedding_peak_bytes(feature: Feature, spec: EmbeddingSpec, batch: int) -> int:
    """What an embedding takes while it runs, its result included; nothing for a table that a group looks up."""
    if isinstance(spec, TableSpec) and spec.backend != "torch":
        return 0
    walk = _Walk()
    _embedding(walk, feature, spec, batch)
    return walk.peak_bytes


def dense_memory(spec: ModelSpec, batch: int) -> DenseMemory:
    """All of a forward pass but its embeddings, on which it depends by their number and widths alone."""
    bottom, after = _Walk(), _Walk()
    bottom_bytes = bottom.stack(_with_relus(layer_bytes(spec, "bottom_mlp", batch))) if spec.dense_features else 0
    after.keep(_interaction(after, spec, batch))
    after.stack(_with_relus(layer_bytes(spec, "top_mlp", batch))[:-1])
    # Ids come as one array where each sample has one of every feature; each feature's are copied out of it.
    is_array = all(feature.pooling == 1 for feature in spec.features)
    return DenseMemory(
        bottom_bytes=bottom_bytes,
        bottom_peak_bytes=bottom.peak_bytes,
        ids_bytes=batch * len(spec.features) * BYTES_PER_ID if is_array else 0,
        after_peak_bytes=after.peak_bytes,
    )


class _Walk:
    """Bytes that are alive, and the most that were."""

    def __init__(self) -> None:
        self._held_bytes = 0
        self.peak_bytes = 0

    def keep(self, more_bytes: int) -> None:
        """So many bytes live on; negative where they end."""
        self._held_bytes += more_bytes

    def touch(self, more_bytes: int) -> None:
        """So many bytes more are alive for a moment."""
        self.peak_bytes = max(self.peak_bytes, self._held_bytes + more_bytes)

    def stack(self, given: Iterable[int]) -> int:
        """Layers that give so many bytes, one after another; what the last gives. Its input is held by the caller."""
        before = 0
        for now in given:
            self.touch(before + now)
            before = now
        return before


def _embedding(walk: _Walk, feature: Feature, spec: EmbeddingSpec, batch: int) -> int:
    """Run it; the bytes that it gives."""
    _RUNS[type(spec)](walk, feature, spec, batch)
    return float_bytes(batch, spec.width)


def _table(walk: _Walk, feature: Feature, spec: TableSpec, batch: int) -> None:
    if feature.pooling == 1:
        _single_rows(walk, spec, batch)
        return
    given, ids = float_bytes(batch, spec.dim), ids_of(feature, batch)
    if _is_widened(spec):
        # Rows are summed in float32, as `summed_rows` does.
        walk.touch(ids * spec.row_bytes + float_bytes(ids, spec.dim))
        walk.touch(float_bytes(ids, spec.dim) + given + pool_bytes(feature, batch))
    else:
        walk.touch(given + lookup_bytes(batch, is_single=False))


def _single_rows(walk: _Walk, spec: TableSpec, ids: int) -> None:
    """A look-up of single ids, whose rows are widened to float32 afterwards."""
    rows = ids * spec.row_bytes if _is_widened(spec) else float_bytes(ids, spec.dim)
    walk.touch(rows + lookup_bytes(ids, is_single=True))
    walk.touch(rows + float_bytes(ids, spec.dim) if _is_widened(spec) else rows)


def _is_widened(spec: TableSpec) -> bool:
    return spec.backend == "torch" and spec.dtype != "float32"


def _hybrid(walk: _Walk, feature: Feature, spec: HybridSpec, batch: int) -> None:
    parts = (spec.table, spec.dhe)
    for part in parts:
        walk.keep(_embedding(walk, feature, part, batch))
    walk.touch(float_bytes(batch, spec.width))
    walk.keep(-sum(float_bytes(batch, part.width) for part in parts))


def _quotient_remainder(walk: _Walk, feature: Feature, spec: QuotientRemainderSpec, batch: int) -> None:
    """Quotients and remainders are held to the end; rows of both tables until they are combined."""
    if spec.is_plain(feature):
        _table(walk, feature, TableSpec(dim=spec.width), batch)
        return
    ids, is_product, part = ids_of(feature, batch), spec.operation == "mult", TableSpec(dim=spec.dim)
    rows = ids if is_product else batch
    walk.touch(id_bytes(3 * ids))
    walk.keep(id_bytes(2 * ids))
    for _ in range(2):
        _single_rows(walk, part, ids) if is_product else _table(walk, feature, part, batch)
        walk.keep(float_bytes(rows, spec.dim))
    walk.touch(float_bytes(rows, spec.width))
    walk.keep(-2 * float_bytes(rows, spec.dim))
    if is_product:
        _pool(walk, feature, spec.dim, batch)
    walk.keep(-id_bytes(2 * ids))


def _mixed_dimension(walk: _Walk, feature: Feature, spec: MixedDimensionSpec, batch: int) -> None:
    _table(walk, feature, TableSpec(dim=spec.inner_dim), batch)
    if spec.has_projection:
        walk.stack([float_bytes(batch, spec.inner_dim), float_bytes(batch, spec.dim)])


def _reduced_table(walk: _Walk, feature: Feature, spec: ReducedTableSpec, batch: int) -> None:
    """The numbers of the rows, from a quotient and its product or from 32-bit integers, are held to the end."""
    ids = ids_of(feature, batch)
    walk.touch(ids * BYTES_PER_ROW_NUMBER + id_bytes(ids) if spec.kept_by == "frequency" else id_bytes(3 * ids))
    walk.keep(id_bytes(ids))
    _table(walk, feature, spec.table, batch)
    walk.keep(-id_bytes(ids))


def _robe(walk: _Walk, feature: Feature, spec: RobeSpec, batch: int) -> None:
    """Where blocks begin, then the place of every float, copied where a row ends within a block."""
    ids, blocks = ids_of(feature, batch), -(-spec.dim // spec.block)
    placed = blocks * spec.block
    copied = 0 if placed == spec.dim else spec.dim
    walk.touch(id_bytes(ids * (blocks + placed + copied)) + float_bytes(ids, spec.dim))
    _pool(walk, feature, spec.dim, batch)


def _dhe(walk: _Walk, feature: Feature, spec: DheSpec, batch: int) -> None:
    ids = ids_of(feature, batch)
    encoded, rows = float_bytes(ids, spec.k), float_bytes(ids, spec.dim)
    per_layer = 3 if spec.norm == "batch" else 2
    decoder = [float_bytes(ids, outputs) for _, outputs in spec.layers[:-1] for _ in range(per_layer)]
    walk.touch(encoded)
    walk.keep(encoded)
    walk.stack([*decoder, rows])
    walk.keep(-encoded)
    _pool(walk, feature, spec.dim, batch)


def _tensor_train(walk: _Walk, feature: Feature, spec: TensorTrainSpec, batch: int) -> None:
    """Digits of all ids first, then chains of matrices, longer by one with every core."""
    ids, shapes = ids_of(feature, batch), spec.core_shapes(feature)
    digits = len(shapes) * ids * BYTES_PER_ID
    walk.keep(digits)
    chain = math.prod(shapes[0][1:])
    walk.touch(float_bytes(ids, chain))
    for _, rank, width in shapes[1:]:
        longer = chain // rank * width
        walk.touch(float_bytes(ids, chain + rank * width + longer))
        chain = longer
    walk.keep(-digits)
    _pool(walk, feature, spec.dim, batch)


def _pool(walk: _Walk, feature: Feature, width: int, batch: int) -> None:
    """The sums of bags, with the order of their rows and whose each of them is."""
    if feature.pooling != 1:
        rows, sums = float_bytes(ids_of(feature, batch), width), float_bytes(batch, width)
        walk.touch(rows + sums + pool_bytes(feature, batch))


def _interaction(walk: _Walk, spec: ModelSpec, batch: int) -> int:
    """Run it; the bytes that it gives."""
    given = float_bytes(batch, spec.interaction_width)
    joined = float_bytes(batch, spec.vectors_width)
    if spec.interaction == "dot":
        vectors = len(spec.embeddings) + bool(spec.dense_features)
        pairs = vectors * (vectors - 1) // 2
        indices = 3 * pairs * BYTES_PER_ID
        walk.touch(joined + float_bytes(batch, vectors * vectors) + float_bytes(batch, pairs) + given + indices)
    elif spec.interaction == "fm":
        walk.touch(joined)
        walk.keep(joined)
        deep = walk.stack(_with_relus(layer_bytes(spec, "deep_mlp", batch)))
        # The machine squares all floats, and sums these and the floats; what it and the deep part give is then joined.
        walk.touch(deep + joined + float_bytes(batch, 2))
        walk.touch(deep + float_bytes(batch, 1) + given)
        walk.keep(-joined)
    else:
        walk.touch(given)
    return given


def _with_relus(given: Sequence[int]) -> list[int]:
    return [layer for layer in given for _ in range(2)]


_RUNS: Mapping[type[EmbeddingSpec], Callable[[_Walk, Feature, Any, int], None]] = {
    TableSpec: _table,
    DheSpec: _dhe,
    HybridSpec: _hybrid,
    QuotientRemainderSpec: _quotient_remainder,
    MixedDimensionSpec: _mixed_dimension,
    ReducedTableSpec: _reduced_table,
    TensorTrainSpec: _tensor_train,
    RobeSpec: _robe,
}
