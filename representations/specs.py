"""What a model is made of, as frozen plain data: features, the representation of each, MLPs, interaction.

Sizes follow from the specs alone, so that a model of 96 GB can be planned without being built.
FLOPs count 2 per multiply-accumulate; parameter bytes are exact and equal those of the built module (buffers that the
forward pass needs, such as hash coefficients, included).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal

from profiles.errors import InputError, UnknownNameError

__all__ = [
    "DheSpec",
    "EmbeddingSpec",
    "Feature",
    "HybridSpec",
    "ModelSpec",
    "TableSpec",
    "embedding_from_object",
    "model_from_object",
]

BYTES_PER_FLOAT = 4
# Per hash function: coefficients a and b as 64-bit integers.
BYTES_PER_HASH = 16
Activation = Literal["mish", "relu"]
Norm = Literal["none", "batch"]
Transform = Literal["uniform", "gaussian"]
Interaction = Literal["dot", "concat"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Feature:
    """A categorical feature: ids in [0, cardinality), `pooling` ids per sample on average (1 = one-hot)."""

    name: str
    cardinality: int
    pooling: float = 1.0

    def __post_init__(self) -> None:
        if self.cardinality < 1:
            raise InputError(f"feature {self.name!r}: cardinality must be >= 1, but got {self.cardinality}")
        if not self.pooling > 0:
            raise InputError(f"feature {self.name!r}: pooling must be > 0, but got {self.pooling}")


@dataclass(frozen=True, kw_only=True, slots=True)
class TableSpec:
    """An embedding table: one row of `dim` floats per id, rows of a sample summed."""

    kind: ClassVar[str] = "table"
    dim: int

    def __post_init__(self) -> None:
        _require_positive("table", dim=self.dim)

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.dim

    def parameter_bytes(self, feature: Feature) -> int:
        """Rows x dim x 4."""
        return feature.cardinality * self.dim * BYTES_PER_FLOAT


@dataclass(frozen=True, kw_only=True, slots=True)
class DheSpec:
    """Deep hash embedding (Kang et al., arXiv 2010.10784): `k` hashes of the id, decoded by an MLP to `dim` floats.

    `widths` are the decoder's hidden layers: Linear, then BatchNorm where `norm` is `batch`, then the activation.
    """

    kind: ClassVar[str] = "dhe"
    dim: int
    k: int = 1024
    widths: tuple[int, ...] = (128,)
    activation: Activation = "mish"
    norm: Norm = "none"
    transform: Transform = "uniform"

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(self.widths))
        _require_positive("dhe", dim=self.dim, k=self.k, **{f"widths[{i}]": w for i, w in enumerate(self.widths)})
        if self.transform == "gaussian" and self.k % 2:
            raise InputError(f"dhe: k must be even for gaussian pairs, but got {self.k}")

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.dim

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of each decoder layer."""
        sizes = (self.k, *self.widths, self.dim)
        return tuple(pairwise(sizes))

    def parameter_bytes(self, feature: Feature) -> int:
        """Decoder weights and biases, BatchNorm's four vectors and counter, and 16 bytes per hash function."""
        del feature
        norm_bytes = sum(4 * w * BYTES_PER_FLOAT + 8 for w in self.widths) if self.norm == "batch" else 0
        decoder = sum((inputs + 1) * outputs for inputs, outputs in self.layers) * BYTES_PER_FLOAT
        return decoder + norm_bytes + BYTES_PER_HASH * self.k


@dataclass(frozen=True, kw_only=True, slots=True)
class HybridSpec:
    """A table and a DHE side by side, outputs concatenated, trained jointly (Hsia et al., arXiv 2302.10872)."""

    kind: ClassVar[str] = "hybrid"
    table: TableSpec
    dhe: DheSpec

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.table.dim + self.dhe.dim

    def parameter_bytes(self, feature: Feature) -> int:
        """The sum of both parts."""
        return self.table.parameter_bytes(feature) + self.dhe.parameter_bytes(feature)


EmbeddingSpec = TableSpec | DheSpec | HybridSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSpec:
    """A DLRM (Naumov et al., arXiv 1906.00091): bottom MLP on dense features, embeddings, interaction, top MLP.

    `bottom_mlp` and `top_mlp` are output widths per layer; every layer but the top's last is followed by a ReLU.
    With `dot`, every embedding's width must equal the bottom MLP's last width (pairwise dot products of distinct
    vectors, then concatenated with the bottom output); with `concat`, widths are free.
    """

    name: str
    dense_features: int
    features: tuple[Feature, ...]
    embeddings: tuple[EmbeddingSpec, ...]
    bottom_mlp: tuple[int, ...]
    top_mlp: tuple[int, ...]
    interaction: Interaction = "dot"

    def __post_init__(self) -> None:
        for name in ("features", "embeddings", "bottom_mlp", "top_mlp"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if len(self.features) != len(self.embeddings):
            raise InputError(
                f"model {self.name!r}: {len(self.features)} features, but {len(self.embeddings)} embeddings"
            )
        if not self.features or not self.top_mlp or (self.dense_features > 0 and not self.bottom_mlp):
            raise InputError(f"model {self.name!r}: needs at least one feature, a bottom layer and a top layer")
        _require_positive(f"model {self.name!r}", **{f"bottom_mlp[{i}]": w for i, w in enumerate(self.bottom_mlp)})
        _require_positive(f"model {self.name!r}", **{f"top_mlp[{i}]": w for i, w in enumerate(self.top_mlp)})
        if self.top_mlp[-1] != 1:
            raise InputError(f"model {self.name!r}: top_mlp must end in 1 (the logit), but ends in {self.top_mlp[-1]}")
        names = [feature.name for feature in self.features]
        if len(set(names)) != len(names):
            raise InputError(f"model {self.name!r}: feature names must be distinct, but got {names}")
        if self.interaction == "dot":
            self._check_dot_widths()

    def _check_dot_widths(self) -> None:
        wanted = self.bottom_mlp[-1] if self.dense_features else self.embeddings[0].width
        for feature, embedding in zip(self.features, self.embeddings, strict=True):
            if embedding.width != wanted:
                raise InputError(
                    f"model {self.name!r}: the dot interaction needs width {wanted} for every feature, "
                    f"but {feature.name!r} ({embedding.kind}) gives {embedding.width}"
                )

    @property
    def representation(self) -> str:
        """`table`, `dhe`, `hybrid` where any feature is hybrid, `select` where tables and DHEs are mixed."""
        kinds = {embedding.kind for embedding in self.embeddings}
        if "hybrid" in kinds:
            return "hybrid"
        return kinds.pop() if len(kinds) == 1 else "select"

    @property
    def interaction_width(self) -> int:
        """Floats per sample that enter the top MLP."""
        dense = self.bottom_mlp[-1] if self.dense_features else 0
        if self.interaction == "concat":
            return dense + sum(embedding.width for embedding in self.embeddings)
        vectors = len(self.embeddings) + bool(self.dense_features)
        return dense + vectors * (vectors - 1) // 2

    @property
    def mlp_layers(self) -> tuple[tuple[str, int, int], ...]:
        """(path, inputs, outputs) of every linear layer of the bottom and top MLP."""
        bottom = (self.dense_features, *self.bottom_mlp) if self.dense_features else ()
        top = (self.interaction_width, *self.top_mlp)
        return tuple(
            (f"{stem}.{i}", inputs, outputs)
            for stem, sizes in (("bottom_mlp", bottom), ("top_mlp", top))
            for i, (inputs, outputs) in enumerate(pairwise(sizes))
        )

    @property
    def embedding_bytes(self) -> int:
        """Parameter bytes of all embeddings."""
        return sum(e.parameter_bytes(f) for f, e in zip(self.features, self.embeddings, strict=True))

    @property
    def parameter_bytes(self) -> int:
        """Exact parameter bytes of the whole model."""
        mlp = sum((inputs + 1) * outputs for _, inputs, outputs in self.mlp_layers) * BYTES_PER_FLOAT
        return mlp + self.embedding_bytes

    def to_object(self) -> dict[str, Any]:
        """A JSON- and TOML-ready object that `model_from_object` reads back."""
        body = asdict(self)
        body["embeddings"] = [_embedding_object(embedding) for embedding in self.embeddings]
        return body

    def renamed(self, name: str) -> "ModelSpec":
        """The same model under another name."""
        return replace(self, name=name)


def model_from_object(body: Mapping[str, Any]) -> ModelSpec:
    """The model that `ModelSpec.to_object` wrote."""
    try:
        fields = {**body, "features": tuple(Feature(**f) for f in body["features"])}
        fields["embeddings"] = tuple(embedding_from_object(e) for e in body["embeddings"])
        return ModelSpec(**fields)
    except (KeyError, TypeError) as error:
        raise InputError(f"model: {error}") from error


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


def _embedding_object(embedding: EmbeddingSpec) -> dict[str, Any]:
    return {"kind": embedding.kind, **asdict(embedding)}


def _untagged(body: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != "kind"}


def _require_positive(where: str, **values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise InputError(f"{where}: {name} must be >= 1, but got {value}")
