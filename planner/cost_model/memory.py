"""Memory of a model: parameter bytes, and what its activations take at most beside them.

A forward pass is followed in execution order. What a layer reads lives as long as the layer runs, what a stack of
layers reads as long as the stack, every embedding until the last layer has run (the model holds the list of them), and
what a component takes for itself as long as it runs. Without gradients nothing else is kept.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from profiles.errors import UnknownNameError
from representations.embedding_components import Place, embedding_components
from representations.specs import (
    BYTES_PER_FLOAT,
    BYTES_PER_HASH,
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    ModelSpec,
    TableSpec,
    TensorTrainSpec,
)
from representations.work import BYTES_PER_ID
from representations.zipf import expected_distinct

__all__ = [
    "DenseMemory",
    "DenseOptimizer",
    "ModelMemory",
    "TrainingMemory",
    "dense_memory",
    "embedding_peak_bytes",
    "forward_memory",
    "training_memory",
]

DenseOptimizer = Literal["sgd", "adagrad", "adam"]
_STATES = {"sgd": 0, "adagrad": 1, "adam": 2}
# A look-up of single ids makes three arrays of 64-bit integers: where bags begin, whose each id is, how many they are.
_LOOKUP_BYTES_PER_ID = 3 * BYTES_PER_ID


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
    """The peak of one forward pass without gradients.

    Representations other than tables, DHEs, hybrids of them and tensor trains count all that their components give: an
    upper bound.
    """
    dense = dense_memory(spec, batch)
    held, peak = dense.bottom_bytes + dense.ids_bytes, dense.bottom_peak_bytes
    for feature, embedding in zip(spec.features, spec.embeddings, strict=True):
        peak = max(peak, held + embedding_peak_bytes(feature, embedding, batch))
        held += _floats(batch, embedding.width)
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
    bottom_bytes = bottom.stack(_with_relus(_layers(spec, "bottom_mlp", batch))) if spec.dense_features else 0
    after.keep(_interaction(after, spec, batch))
    after.stack(_with_relus(_layers(spec, "top_mlp", batch))[:-1])
    # Ids come as one array where each sample has one of every feature; each feature's are copied out of it.
    is_array = all(feature.pooling == 1 for feature in spec.features)
    return DenseMemory(
        bottom_bytes=bottom_bytes,
        bottom_peak_bytes=bottom.peak_bytes,
        ids_bytes=batch * len(spec.features) * BYTES_PER_ID if is_array else 0,
        after_peak_bytes=after.peak_bytes,
    )


def training_memory(spec: ModelSpec, batch: int, *, dense_optimizer: DenseOptimizer = "adam") -> TrainingMemory:
    """A training step with sparse gradients of tables under row-wise Adagrad, and a dense optimizer for all else.

    Row-wise Adagrad keeps a float per row, Adagrad one per parameter, Adam two. Hash functions are not trained. Ids are
    taken to be uniform, which touches the most rows. Of quotient-remainder, mixed-dimension and ROBE embeddings ids and
    factors that the backward pass keeps are left out: a bound from below.

    Raises:
        UnknownNameError: an optimizer that is none of these.
    """
    if dense_optimizer not in _STATES:
        raise UnknownNameError("training: dense optimizer", dense_optimizer, _STATES)
    pairs = list(zip(spec.features, spec.embeddings, strict=True))
    tables = [(feature, table) for feature, one in pairs if (table := _table_of(one))]
    table_bytes = sum(table.parameter_bytes(feature) for feature, table in tables)
    hashes = sum(BYTES_PER_HASH * dhe.k for _, one in pairs if (dhe := _dhe_of(one)))
    dense_bytes = spec.parameter_bytes - table_bytes - hashes
    touched = [(expected_distinct(f.cardinality, 0.0, batch * f.pooling), table) for f, table in tables]
    sparse_bytes = sum(round(rows * (table.dim * BYTES_PER_FLOAT + BYTES_PER_ID)) for rows, table in touched)
    rows_bytes = sum(feature.cardinality for feature, _ in tables) * BYTES_PER_FLOAT
    return TrainingMemory(
        parameter_bytes=spec.parameter_bytes,
        gradient_bytes=dense_bytes + sparse_bytes,
        optimizer_bytes=_STATES[dense_optimizer] * dense_bytes + rows_bytes,
        activation_bytes=_kept_bytes(spec, batch),
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
    given = _floats(batch, spec.width)
    if isinstance(spec, TableSpec):
        walk.touch(given + (batch * _LOOKUP_BYTES_PER_ID if feature.pooling == 1 else 2 * batch * BYTES_PER_ID))
    elif isinstance(spec, DheSpec):
        _dhe(walk, feature, spec, batch)
    elif isinstance(spec, TensorTrainSpec):
        _tensor_train(walk, feature, spec, batch)
    elif isinstance(spec, HybridSpec):
        parts = (spec.table, spec.dhe)
        for part in parts:
            walk.keep(_embedding(walk, feature, part, batch))
        walk.touch(given)
        walk.keep(-sum(_floats(batch, part.width) for part in parts))
    else:
        walk.touch(sum(_outputs(feature, spec, batch)))
    return given


def _dhe(walk: _Walk, feature: Feature, spec: DheSpec, batch: int) -> None:
    ids = _ids(feature, batch)
    encoded, rows = _floats(ids, spec.k), _floats(ids, spec.dim)
    per_layer = 3 if spec.norm == "batch" else 2
    decoder = [_floats(ids, outputs) for _, outputs in spec.layers[:-1] for _ in range(per_layer)]
    walk.touch(encoded)
    walk.keep(encoded)
    walk.stack([*decoder, rows])
    walk.keep(-encoded)
    _pool(walk, feature, spec.dim, batch)


def _tensor_train(walk: _Walk, feature: Feature, spec: TensorTrainSpec, batch: int) -> None:
    """Digits of all ids first, then chains of matrices, longer by one with every core."""
    ids, shapes = _ids(feature, batch), spec.core_shapes(feature)
    digits = len(shapes) * ids * BYTES_PER_ID
    walk.keep(digits)
    chain = math.prod(shapes[0][1:])
    walk.touch(_floats(ids, chain))
    for _, rank, width in shapes[1:]:
        longer = chain // rank * width
        walk.touch(_floats(ids, chain + rank * width + longer))
        chain = longer
    walk.keep(-digits)
    _pool(walk, feature, spec.dim, batch)


def _pool(walk: _Walk, feature: Feature, width: int, batch: int) -> None:
    """The sums of bags, with the order of their rows and whose each of them is."""
    if feature.pooling != 1:
        ids = _ids(feature, batch)
        walk.touch(_floats(ids, width) + _floats(batch, width) + 2 * ids * BYTES_PER_ID)


def _interaction(walk: _Walk, spec: ModelSpec, batch: int) -> int:
    """Run it; the bytes that it gives."""
    given = _floats(batch, spec.interaction_width)
    joined = _floats(batch, spec.vectors_width)
    if spec.interaction == "dot":
        vectors = len(spec.embeddings) + bool(spec.dense_features)
        pairs = vectors * (vectors - 1) // 2
        indices = 3 * pairs * BYTES_PER_ID
        walk.touch(joined + _floats(batch, vectors * vectors) + _floats(batch, pairs) + given + indices)
    elif spec.interaction == "fm":
        walk.touch(joined)
        walk.keep(joined)
        deep = walk.stack(_with_relus(_layers(spec, "deep_mlp", batch)))
        # The machine squares all floats, and sums these and the floats; what it and the deep part give is then joined.
        walk.touch(deep + joined + _floats(batch, 2))
        walk.touch(deep + _floats(batch, 1) + given)
        walk.keep(-joined)
    else:
        walk.touch(given)
    return given


def _layers(spec: ModelSpec, stem: str, batch: int) -> list[int]:
    return [_floats(batch, outputs) for path, _, outputs in spec.mlp_layers if path.startswith(f"{stem}.")]


def _with_relus(given: Sequence[int]) -> list[int]:
    return [layer for layer in given for _ in range(2)]


def _kept_bytes(spec: ModelSpec, batch: int) -> int:
    """What a backward pass needs of a forward pass: outputs of ReLUs, inputs of layers, factors of products."""
    stems = ("bottom_mlp", "deep_mlp", "top_mlp")
    kept = sum(sum(_layers(spec, stem, batch)) for stem in stems) + _floats(batch, spec.interaction_width)
    if spec.interaction != "concat":
        kept += _floats(batch, spec.vectors_width)
    is_array = all(feature.pooling == 1 for feature in spec.features)
    for feature, embedding in zip(spec.features, spec.embeddings, strict=True):
        kept += batch * BYTES_PER_ID if is_array else 0
        if _table_of(embedding):
            kept += batch * _LOOKUP_BYTES_PER_ID if feature.pooling == 1 else 2 * batch * BYTES_PER_ID
        if isinstance(embedding, TensorTrainSpec):
            kept += _kept_of_train(feature, embedding, batch)
        elif (dhe := _dhe_of(embedding)) or not _table_of(embedding):
            kept += sum(_outputs(feature, dhe or embedding, batch)[:-1])
    return kept


def _kept_of_train(feature: Feature, spec: TensorTrainSpec, batch: int) -> int:
    """The digits of all ids, and both factors of every product."""
    ids, shapes = _ids(feature, batch), spec.core_shapes(feature)
    chain, factors = math.prod(shapes[0][1:]), 0
    for _, rank, width in shapes[1:]:
        factors += chain + rank * width
        chain = chain // rank * width
    return len(shapes) * ids * BYTES_PER_ID + _floats(ids, factors)


def _outputs(feature: Feature, spec: EmbeddingSpec, batch: int) -> list[int]:
    """What each component of an embedding gives, in order."""
    place = Place(path="", feature=feature, batch=batch, zipf=0.0)
    widths = [(one.component.batch, dict(one.component.shape)) for one in embedding_components(place, spec)]
    return [_floats(rows, _width(shape, spec)) for rows, shape in widths]


def _width(shape: dict[str, int | float | str], spec: EmbeddingSpec) -> int:
    for name in ("out_features", "width", "dim", "k"):
        if name in shape:
            return int(shape[name])
    return spec.width


def _table_of(spec: EmbeddingSpec) -> TableSpec | None:
    if isinstance(spec, HybridSpec):
        return spec.table
    return spec if isinstance(spec, TableSpec) else None


def _dhe_of(spec: EmbeddingSpec) -> DheSpec | None:
    if isinstance(spec, HybridSpec):
        return spec.dhe
    return spec if isinstance(spec, DheSpec) else None


def _ids(feature: Feature, batch: int) -> int:
    return max(1, round(batch * feature.pooling))


def _floats(rows: int, width: int) -> int:
    return rows * width * BYTES_PER_FLOAT
