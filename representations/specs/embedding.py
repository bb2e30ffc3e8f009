"""The union of all embedding specs, to and from tagged objects."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from profiles.errors import InputError, UnknownNameError
from representations.specs.dhe import DheSpec
from representations.specs.hybrid import HybridSpec
from representations.specs.keys import require_keys
from representations.specs.mixed_dimension import MixedDimensionSpec
from representations.specs.quotient_remainder import QuotientRemainderSpec
from representations.specs.reduced_table import ReducedTableSpec
from representations.specs.robe import RobeSpec
from representations.specs.table import TableSpec
from representations.specs.tensor_train import TensorTrainSpec

__all__ = ["EmbeddingSpec", "embedding_from_object", "embedding_object"]

EmbeddingSpec = (
    TableSpec
    | DheSpec
    | HybridSpec
    | QuotientRemainderSpec
    | MixedDimensionSpec
    | TensorTrainSpec
    | RobeSpec
    | ReducedTableSpec
)
S = TypeVar("S", bound=EmbeddingSpec)
_FLAT: Mapping[str, type[EmbeddingSpec]] = {
    spec.kind: spec
    for spec in (
        TableSpec,
        DheSpec,
        QuotientRemainderSpec,
        MixedDimensionSpec,
        TensorTrainSpec,
        RobeSpec,
        ReducedTableSpec,
    )
}


def embedding_from_object(body: Mapping[str, Any]) -> EmbeddingSpec:
    """An embedding spec from its tagged object, e.g. `{"kind": "dhe", "dim": 16, "k": 64, ...}`.

    Raises:
        UnknownNameError: an unknown kind.
        InputError: no object, a key that the kind does not have or lacks, or a part of another kind.
    """
    if not isinstance(body, Mapping):
        raise InputError(f"representation: must be an object with a kind, but got {body!r}")
    kind = str(body.get("kind", ""))
    kinds: dict[str, type[EmbeddingSpec]] = {**_FLAT, HybridSpec.kind: HybridSpec}
    if kind not in kinds:
        raise UnknownNameError("representation", kind, tuple(kinds))
    fields = {key: value for key, value in body.items() if key != "kind"}
    require_keys(f"representation {kind!r}", kinds[kind], fields)
    if kind == HybridSpec.kind:
        fields = {"table": _part("table", TableSpec, fields["table"]), "dhe": _part("dhe", DheSpec, fields["dhe"])}
    return _made(kinds[kind], fields)


def embedding_object(embedding: EmbeddingSpec) -> dict[str, Any]:
    """The tagged object that `embedding_from_object` reads back."""
    return {"kind": embedding.kind, **asdict(embedding)}


def _part(name: str, spec: type[S], body: object) -> S:
    """One part of a hybrid, whose tag may be left out."""
    if not isinstance(body, Mapping):
        raise InputError(f"representation 'hybrid': {name} must be an object, but got {body!r}")
    if body.get("kind", spec.kind) != spec.kind:
        raise InputError(f"representation 'hybrid': {name} must be of kind {spec.kind!r}, but got {body['kind']!r}")
    fields = {key: value for key, value in body.items() if key != "kind"}
    require_keys(f"representation 'hybrid': {name}", spec, fields)
    return _made(spec, fields)


def _made(spec: type[S], fields: Mapping[str, Any]) -> S:
    try:
        return spec(**fields)
    except TypeError as error:
        raise InputError(f"representation {spec.kind!r}: {error}") from error
