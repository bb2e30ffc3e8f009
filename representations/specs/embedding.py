"""The union of all embedding specs, to and from tagged objects."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from profiles.errors import UnknownNameError
from representations.specs.dhe import DheSpec
from representations.specs.hybrid import HybridSpec
from representations.specs.table import TableSpec

__all__ = ["EmbeddingSpec", "embedding_from_object", "embedding_object"]

EmbeddingSpec = TableSpec | DheSpec | HybridSpec


def embedding_from_object(body: Mapping[str, Any]) -> EmbeddingSpec:
    """An embedding spec from its tagged object, e.g. `{"kind": "dhe", "dim": 16, "k": 64, ...}`."""
    fields = dict(body)
    kind = fields.pop("kind", "")
    if kind == HybridSpec.kind:
        return HybridSpec(table=TableSpec(**_untagged(fields["table"])), dhe=DheSpec(**_untagged(fields["dhe"])))
    builders: dict[str, type[TableSpec | DheSpec]] = {TableSpec.kind: TableSpec, DheSpec.kind: DheSpec}
    if kind not in builders:
        raise UnknownNameError("representation", str(kind), (*builders, HybridSpec.kind))
    return builders[kind](**fields)


def embedding_object(embedding: EmbeddingSpec) -> dict[str, Any]:
    """The tagged object that `embedding_from_object` reads back."""
    return {"kind": embedding.kind, **asdict(embedding)}


def _untagged(body: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != "kind"}
