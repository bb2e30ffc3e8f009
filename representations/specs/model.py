"""The spec of a whole model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Literal, get_args

from profiles.errors import InputError, UnknownNameError
from representations.specs.embedding import EmbeddingSpec, embedding_from_object, embedding_object
from representations.specs.feature import Feature
from representations.specs.keys import require_keys
from representations.specs.robe import ROBE_PRIME, RobeSpec
from representations.specs.sizes import BYTES_PER_FLOAT, require_integer, require_positive
from representations.specs.table import TableSpec

__all__ = ["Architecture", "Interaction", "ModelSpec", "model_from_object", "table_groups"]

Interaction = Literal["dot", "concat", "fm"]
Architecture = Literal["dlrm", "deepfm"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSpec:
    """Bottom MLP on dense features, embeddings, interaction, top MLP; all widths are outputs per layer.

    Every layer but the top's last is followed by a ReLU. The interaction decides the architecture: `dot` and `concat`
    make a DLRM (Naumov et al., arXiv 1906.00091), `fm` a DeepFM (Guo et al., arXiv 1703.04247). With `dot`, every
    embedding's width must equal the bottom MLP's last width (pairwise dot products of distinct vectors, then
    concatenated with the bottom output); with the others, widths are free. `deep_mlp` is the deep part of a DeepFM.
    """

    name: str
    dense_features: int
    features: tuple[Feature, ...]
    embeddings: tuple[EmbeddingSpec, ...]
    bottom_mlp: tuple[int, ...]
    top_mlp: tuple[int, ...]
    interaction: Interaction = "dot"
    deep_mlp: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("features", "embeddings", "bottom_mlp", "top_mlp", "deep_mlp"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if len(self.features) != len(self.embeddings):
            raise InputError(
                f"model {self.name!r}: {len(self.features)} features, but {len(self.embeddings)} embeddings"
            )
        require_integer(f"model {self.name!r}: dense_features", self.dense_features, minimum=0)
        if not self.features or not self.top_mlp or (self.dense_features > 0 and not self.bottom_mlp):
            raise InputError(f"model {self.name!r}: needs at least one feature, a bottom layer and a top layer")
        for stem in ("bottom_mlp", "top_mlp", "deep_mlp"):
            widths = {f"{stem}[{i}]": width for i, width in enumerate(getattr(self, stem))}
            require_positive(f"model {self.name!r}", **widths)
        if self.top_mlp[-1] != 1:
            raise InputError(f"model {self.name!r}: top_mlp must end in 1 (the logit), but ends in {self.top_mlp[-1]}")
        names = [feature.name for feature in self.features]
        if len(set(names)) != len(names):
            raise InputError(f"model {self.name!r}: feature names must be distinct, but got {names}")
        self._check_interaction()
        self._check_shared_array()

    def _check_interaction(self) -> None:
        if self.interaction not in get_args(Interaction):
            raise UnknownNameError(f"model {self.name!r}: interaction", self.interaction, get_args(Interaction))
        if (self.interaction == "fm") is not bool(self.deep_mlp):
            raise InputError(
                f"model {self.name!r}: the interaction 'fm', and it alone, needs deep_mlp layers, "
                f"but {self.interaction!r} got {self.deep_mlp}"
            )
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

    def _check_shared_array(self) -> None:
        arrays = {(spec.floats, spec.block) for spec in self.embeddings if isinstance(spec, RobeSpec)}
        if len(arrays) > 1:
            raise InputError(f"model {self.name!r}: all robe features share one array, but got {sorted(arrays)}")
        rows = sum(f.cardinality for f, _ in self._robes)
        if rows > ROBE_PRIME:
            raise InputError(f"model {self.name!r}: robe tells at most {ROBE_PRIME} ids apart, but got {rows} rows")

    @property
    def architecture(self) -> Architecture:
        """Which model the interaction makes."""
        return "deepfm" if self.interaction == "fm" else "dlrm"

    @property
    def representation(self) -> str:
        """The kind of the embeddings that are not plain tables; `select` where tables and DHEs are mixed.

        A model with any hybrid is `hybrid`; several other kinds in one model are `mixed`.
        """
        kinds = {embedding.kind for embedding in self.embeddings}
        if "hybrid" in kinds:
            return "hybrid"
        if kinds == {"table", "dhe"}:
            return "select"
        others = kinds - {"table"}
        if len(others) > 1:
            return "mixed"
        return others.pop() if others else "table"

    @property
    def vectors_width(self) -> int:
        """Floats per sample of the bottom output and all embeddings together."""
        dense = self.bottom_mlp[-1] if self.dense_features else 0
        return dense + sum(embedding.width for embedding in self.embeddings)

    @property
    def interaction_width(self) -> int:
        """Floats per sample that enter the top MLP."""
        if self.interaction == "concat":
            return self.vectors_width
        dense = self.bottom_mlp[-1] if self.dense_features else 0
        if self.interaction == "fm":
            return dense + self.deep_mlp[-1] + 1
        vectors = len(self.embeddings) + bool(self.dense_features)
        return dense + vectors * (vectors - 1) // 2

    @property
    def mlp_layers(self) -> tuple[tuple[str, int, int], ...]:
        """(path, inputs, outputs) of every linear layer of the bottom, deep and top MLP."""
        bottom = (self.dense_features, *self.bottom_mlp) if self.dense_features else ()
        deep = (self.vectors_width, *self.deep_mlp) if self.deep_mlp else ()
        top = (self.interaction_width, *self.top_mlp)
        return tuple(
            (f"{stem}.{i}", inputs, outputs)
            for stem, sizes in (("bottom_mlp", bottom), ("deep_mlp", deep), ("top_mlp", top))
            for i, (inputs, outputs) in enumerate(pairwise(sizes))
        )

    @property
    def embedding_bytes(self) -> int:
        """Parameter bytes of all embeddings, a shared array once."""
        pairs = zip(self.features, self.embeddings, strict=True)
        own = sum(spec.parameter_bytes(feature) for feature, spec in pairs if not isinstance(spec, RobeSpec))
        return own + (self._robes[0][1].shared_bytes if self._robes else 0)

    @property
    def robe_offsets(self) -> dict[str, int]:
        """For each feature in the shared array, by name, how many rows come before its own."""
        ends = accumulate(feature.cardinality for feature, _ in self._robes)
        return {f.name: end - f.cardinality for (f, _), end in zip(self._robes, ends, strict=True)}

    @property
    def _robes(self) -> tuple[tuple[Feature, RobeSpec], ...]:
        pairs = zip(self.features, self.embeddings, strict=True)
        return tuple((feature, spec) for feature, spec in pairs if isinstance(spec, RobeSpec))

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


def table_groups(spec: ModelSpec) -> dict[str, tuple[int, ...]]:
    """Positions of the features whose tables one call looks up, by the group's name.

    Tables of one back end, dtype and dim make a group, `tables_<back end>_<dtype>_<dim>`; those of `torch` make none.
    """
    groups: dict[str, tuple[int, ...]] = {}
    for i, embedding in enumerate(spec.embeddings):
        if isinstance(embedding, TableSpec) and embedding.backend != "torch":
            name = f"tables_{embedding.backend}_{embedding.dtype}_{embedding.dim}"
            groups[name] = (*groups.get(name, ()), i)
    return groups


def model_from_object(body: Mapping[str, Any]) -> ModelSpec:
    """The model that `ModelSpec.to_object` wrote.

    Raises:
        InputError: no object, a key that a model, a feature or a representation does not have or lacks, a bad value.
    """
    require_keys("model", ModelSpec, body)
    try:
        for i, feature in enumerate(body["features"]):
            require_keys(f"model: features[{i}]", Feature, feature)
        features = tuple(Feature(**feature) for feature in body["features"])
        embeddings = tuple(embedding_from_object(e) for e in body["embeddings"])
        return ModelSpec(**{**body, "features": features, "embeddings": embeddings})
    except TypeError as error:
        raise InputError(f"model: {error}") from error
