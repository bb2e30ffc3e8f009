"""The representations whose accuracy is compared, each for any set of features."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from representations.assignment import SELECTED, assign_embeddings
from representations.specs import (
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    ModelSpec,
    QuotientRemainderSpec,
    RobeSpec,
    TableSpec,
    TensorTrainSpec,
)
from representations.specs.mixed_dimension import mixed_dimensions

__all__ = ["CANDIDATES", "DECODERS", "HASHES", "candidate_model", "dhe", "is_hybrid", "is_table"]

Embeddings = Callable[[Sequence[Feature]], tuple[EmbeddingSpec, ...]]

DIM = 16
HASHES = (16, 64, 256, 1024)
DECODERS: Mapping[str, tuple[int, ...]] = {"64": (64,), "128-64": (128, 64), "256-256": (256, 256)}


def dhe(k: int, widths: tuple[int, ...] = (64,), dim: int = DIM) -> DheSpec:
    """A DHE of k hashes and one hidden layer unless told otherwise."""
    return DheSpec(dim=dim, k=k, widths=widths)


def _uniform(spec: EmbeddingSpec) -> Embeddings:
    return lambda features: (spec,) * len(features)


def _select(features: Sequence[Feature]) -> tuple[EmbeddingSpec, ...]:
    """A DHE for the three features of most ids, a table for one other at least."""
    return assign_embeddings(features, "select", dim=DIM, dhe=dhe(256), selected=min(SELECTED, len(features) - 1))


def _mixed(features: Sequence[Feature]) -> tuple[EmbeddingSpec, ...]:
    return mixed_dimensions(features, dim=DIM)


def _robe(features: Sequence[Feature]) -> tuple[EmbeddingSpec, ...]:
    floats = max(DIM, sum(feature.cardinality for feature in features) * DIM // 8)
    return (RobeSpec(dim=DIM, floats=floats),) * len(features)


def _tensor_train(features: Sequence[Feature]) -> tuple[EmbeddingSpec, ...]:
    """Tables of fewer than 300 rows stay what they are: a chain would be larger."""
    train, plain = TensorTrainSpec(dim=DIM, rank=8), TableSpec(dim=DIM)
    return tuple(train if feature.cardinality >= 300 else plain for feature in features)


CANDIDATES: Mapping[str, Embeddings] = {
    **{f"table {dim}": _uniform(TableSpec(dim=dim)) for dim in (4, 8, 16, 32, 64)},
    **{f"dhe k={k}": _uniform(dhe(k)) for k in HASHES},
    "select k=256": _select,
    "hybrid 4+4 k=256": _uniform(HybridSpec(table=TableSpec(dim=4), dhe=dhe(256, dim=4))),
    "hybrid 8+8 k=256": _uniform(HybridSpec(table=TableSpec(dim=8), dhe=dhe(256, dim=8))),
    "hybrid 16+16 k=256": _uniform(HybridSpec(table=TableSpec(dim=16), dhe=dhe(256, dim=16))),
    "hybrid 16+16 k=1024": _uniform(HybridSpec(table=TableSpec(dim=16), dhe=dhe(1024, dim=16))),
    "quotient-remainder": _uniform(QuotientRemainderSpec(dim=DIM)),
    "mixed-dimension": _mixed,
    "tensor-train R=8": _tensor_train,
    "robe 1/8": _robe,
}


def is_table(name: str) -> bool:
    """Whether the candidate is plain tables."""
    return name.startswith("table")


def is_hybrid(name: str) -> bool:
    """Whether the candidate has a table and a DHE for each feature."""
    return name.startswith("hybrid")


def candidate_model(base: ModelSpec, features: Sequence[Feature], embeddings: Embeddings, name: str) -> ModelSpec:
    """A model like `base` on these features; the bottom MLP's last width follows the embeddings."""
    chosen = embeddings(features)
    return replace(
        base,
        name=name,
        features=tuple(features),
        embeddings=chosen,
        bottom_mlp=(*base.bottom_mlp[:-1], chosen[0].width),
    )
