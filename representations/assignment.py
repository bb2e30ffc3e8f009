"""One representation for a whole model: what each feature gets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from profiles.errors import InputError, UnknownNameError
from representations.specs import (
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    ModelSpec,
    QuotientRemainderSpec,
    TableSpec,
    TensorTrainSpec,
    compressed_robe,
    mixed_dimensions,
)

__all__ = ["CompressionOptions", "Representation", "assign_embeddings", "with_representation"]

Representation = Literal[
    "table", "dhe", "select", "hybrid", "quotient-remainder", "mixed-dimension", "tensor-train", "robe"
]
# The published characterisation puts a DHE on the three largest tables (Hsia et al., arXiv 2302.10872).
SELECTED = 3
# TT-Rec's largest configuration (Yin et al., arXiv 2101.11714).
TRAINS = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class CompressionOptions:
    """How far the compressed representations go.

    `quotient_remainder` is a template whose dim is replaced. `temperature` is mixed dimensions', `rank` tensor trains',
    for those of the seven largest tables that they make smaller; `compression` is the size of all tables over that of
    the array that ROBE shares.
    """

    quotient_remainder: QuotientRemainderSpec = field(default_factory=lambda: QuotientRemainderSpec(dim=1))
    temperature: float = 0.3
    rank: int = 16
    compression: float = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    features: Sequence[Feature]
    dim: int
    dhe: DheSpec
    selected: int
    options: CompressionOptions

    @property
    def table(self) -> TableSpec:
        return TableSpec(dim=self.dim)

    def largest(self, count: int) -> frozenset[int]:
        """Positions of the features of most rows."""
        by_rows = sorted(range(len(self.features)), key=lambda i: (-self.features[i].cardinality, i))
        return frozenset(by_rows[:count])


Embeddings = tuple[EmbeddingSpec, ...]


def assign_embeddings(
    features: Sequence[Feature],
    representation: Representation,
    *,
    dim: int,
    dhe: DheSpec | None = None,
    selected: int = SELECTED,
    options: CompressionOptions | None = None,
) -> Embeddings:
    """The embedding of each feature; `select` gives a DHE to the `selected` features of most rows, else a table.

    `dhe` is the DHE that is used, with its width set to `dim`; a hybrid is `dim` wide in each half.

    Raises:
        UnknownNameError: no such representation.
        InputError: a choice that these features do not allow.
    """
    if representation not in get_args(Representation):
        raise UnknownNameError("representation", representation, get_args(Representation))
    request = _Request(
        features=features,
        dim=dim,
        dhe=replace(dhe or DheSpec(dim=dim), dim=dim),
        selected=selected,
        options=options or CompressionOptions(),
    )
    return _ASSIGNMENTS[representation](request)


def with_representation(
    spec: ModelSpec,
    representation: Representation,
    *,
    dim: int,
    dhe: DheSpec | None = None,
    selected: int = SELECTED,
    options: CompressionOptions | None = None,
) -> ModelSpec:
    """The same model with other embeddings; for the dot interaction the bottom MLP's last width follows them."""
    embeddings = assign_embeddings(spec.features, representation, dim=dim, dhe=dhe, selected=selected, options=options)
    bottom = spec.bottom_mlp
    if spec.interaction == "dot" and spec.dense_features:
        bottom = (*bottom[:-1], embeddings[0].width)
    return replace(spec, embeddings=embeddings, bottom_mlp=bottom)


def _uniform(embedding: Callable[[_Request], EmbeddingSpec]) -> Callable[[_Request], Embeddings]:
    return lambda request: (embedding(request),) * len(request.features)


def _select(request: _Request) -> Embeddings:
    most = len(request.features) - 1
    if not 0 < request.selected <= most:
        raise InputError(f"select: must give a DHE to 1 to {most} features, but got {request.selected}")
    chosen = request.largest(request.selected)
    return tuple(request.dhe if i in chosen else request.table for i in range(len(request.features)))


def _mixed_dimensions(request: _Request) -> Embeddings:
    return mixed_dimensions(request.features, dim=request.dim, temperature=request.options.temperature)


def _trains(request: _Request) -> Embeddings:
    chosen, train = request.largest(TRAINS), TensorTrainSpec(dim=request.dim, rank=request.options.rank)
    return tuple(
        train
        if i in chosen and train.parameter_bytes(feature) < request.table.parameter_bytes(feature)
        else request.table
        for i, feature in enumerate(request.features)
    )


_ASSIGNMENTS: Mapping[Representation, Callable[[_Request], Embeddings]] = {
    "table": _uniform(lambda request: request.table),
    "dhe": _uniform(lambda request: request.dhe),
    "select": _select,
    "hybrid": _uniform(lambda request: HybridSpec(table=request.table, dhe=request.dhe)),
    "quotient-remainder": _uniform(lambda request: replace(request.options.quotient_remainder, dim=request.dim)),
    "mixed-dimension": _mixed_dimensions,
    "tensor-train": _trains,
    "robe": _uniform(
        lambda request: compressed_robe(request.features, dim=request.dim, compression=request.options.compression)
    ),
}
