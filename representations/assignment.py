"""One representation for a whole model: which feature gets a table, a DHE, or both."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from profiles.errors import InputError, UnknownNameError
from representations.specs import DheSpec, EmbeddingSpec, Feature, HybridSpec, ModelSpec, TableSpec

__all__ = ["Representation", "assign_embeddings", "with_representation"]

Representation = Literal["table", "dhe", "select", "hybrid"]
# The published characterisation puts a DHE on the three largest tables (Hsia et al., arXiv 2302.10872).
SELECTED = 3


def assign_embeddings(
    features: Sequence[Feature],
    representation: Representation,
    *,
    dim: int,
    dhe: DheSpec | None = None,
    selected: int = SELECTED,
) -> tuple[EmbeddingSpec, ...]:
    """The embedding of each feature; `select` gives a DHE to the `selected` features of most rows, else a table.

    `dhe` is the DHE that is used, with its width set to `dim`; a hybrid is `dim` wide in each half.
    """
    if representation not in get_args(Representation):
        raise UnknownNameError("representation", representation, get_args(Representation))
    table, hashed = TableSpec(dim=dim), replace(dhe or DheSpec(dim=dim), dim=dim)
    if representation != "select":
        uniform: dict[str, EmbeddingSpec] = {
            "table": table,
            "dhe": hashed,
            "hybrid": HybridSpec(table=table, dhe=hashed),
        }
        return (uniform[representation],) * len(features)
    if not 0 < selected < len(features):
        raise InputError(f"select: must give a DHE to 1 to {len(features) - 1} features, but got {selected}")
    by_rows = sorted(range(len(features)), key=lambda i: (-features[i].cardinality, i))
    largest = frozenset(by_rows[:selected])
    return tuple(hashed if i in largest else table for i in range(len(features)))


def with_representation(
    spec: ModelSpec,
    representation: Representation,
    *,
    dim: int,
    dhe: DheSpec | None = None,
    selected: int = SELECTED,
) -> ModelSpec:
    """The same model with other embeddings; for the dot interaction the bottom MLP's last width follows them."""
    embeddings = assign_embeddings(spec.features, representation, dim=dim, dhe=dhe, selected=selected)
    bottom = spec.bottom_mlp
    if spec.interaction == "dot" and spec.dense_features:
        bottom = (*bottom[:-1], embeddings[0].width)
    return replace(spec, embeddings=embeddings, bottom_mlp=bottom)
