"""The spec of a whole model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from profiles.errors import InputError
from representations.specs.embedding import EmbeddingSpec, embedding_from_object, embedding_object
from representations.specs.feature import Feature
from representations.specs.sizes import BYTES_PER_FLOAT, require_positive

__all__ = ["Interaction", "ModelSpec", "model_from_object"]

Interaction = Literal["dot", "concat"]


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
        require_positive(f"model {self.name!r}", **{f"bottom_mlp[{i}]": w for i, w in enumerate(self.bottom_mlp)})
        require_positive(f"model {self.name!r}", **{f"top_mlp[{i}]": w for i, w in enumerate(self.top_mlp)})
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
        body["embeddings"] = [embedding_object(embedding) for embedding in self.embeddings]
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
