"""The components that a model runs, by module path and in execution order, from its spec alone."""

from collections.abc import Iterator, Mapping

from profiles.component import Component, Work, make_component
from profiles.errors import InputError
from representations.embedding_components import Place, elementwise, embedding_components, group_component, linear
from representations.placed_component import PlacedComponent
from representations.specs import BYTES_PER_FLOAT, Architecture, Feature, ModelSpec, TableSpec, table_groups
from representations.work import BYTES_PER_ID, work_of

__all__ = ["PlacedComponent", "components_of", "model_work", "work_of"]

Zipf = Mapping[str, float] | float
# What the parts of a spec are called in the built model.
_NAMES: Mapping[Architecture, Mapping[str, str]] = {
    "dlrm": {"bottom_mlp": "bottom_mlp", "embeddings": "embeddings", "top_mlp": "top_mlp"},
    "deepfm": {
        "bottom_mlp": "dense_arch",
        "embeddings": "sparse_arch",
        "deep_mlp": "inter_arch.deep_fm",
        "top_mlp": "over_arch",
    },
}


def components_of(spec: ModelSpec, batch: int, *, zipf: Zipf = 0.0) -> tuple[PlacedComponent, ...]:
    """Every component of one forward pass over `batch` samples, at the module paths of the built model.

    `zipf` is the exponent of the id distribution, for all features or by feature name (0, uniform, where absent).
    What runs on the ids of a pooled feature one by one has a batch of `batch` x pooling.
    """
    if batch < 1:
        raise InputError(f"components: batch must be >= 1, but got {batch}")
    return (
        *_mlp(spec, "bottom_mlp", batch),
        *_embeddings(spec, batch, zipf),
        *_interaction(spec, batch),
        *_mlp(spec, "top_mlp", batch),
    )


def model_work(spec: ModelSpec, batch: int, *, zipf: Zipf = 0.0) -> Work:
    """The work of one forward pass; `input_bytes` is the dense features and each feature's ids, once.

    The array that ROBE features share counts once among the parameters.
    """
    placed = components_of(spec, batch, zipf=zipf)
    parts = [work_of(one.component) for one in placed]
    robes = [work.parameter_bytes for one, work in zip(placed, parts, strict=True) if one.component.kind == "robe"]
    ids = sum(feature.pooling for feature in spec.features) * batch
    return Work(
        flops=sum(part.flops for part in parts),
        bytes_moved=sum(part.bytes_moved for part in parts),
        parameter_bytes=sum(part.parameter_bytes for part in parts) - sum(robes[1:]),
        input_bytes=batch * spec.dense_features * BYTES_PER_FLOAT + round(ids * BYTES_PER_ID),
    )


def _embeddings(spec: ModelSpec, batch: int, zipf: Zipf) -> Iterator[PlacedComponent]:
    stem = _NAMES[spec.architecture]["embeddings"]
    groups = table_groups(spec)
    for name, positions in groups.items():
        features = [spec.features[i] for i in positions]
        tables = [table for i in positions if isinstance(table := spec.embeddings[i], TableSpec)]
        component = group_component(features, tables, batch, [_exponent(zipf, feature) for feature in features])
        yield PlacedComponent(path=f"{stem}.{name}", component=component)
    grouped = {i for positions in groups.values() for i in positions}
    for i, (feature, embedding) in enumerate(zip(spec.features, spec.embeddings, strict=True)):
        if i not in grouped:
            place = Place(path=f"{stem}.{i}", feature=feature, batch=batch, zipf=_exponent(zipf, feature))
            yield from embedding_components(place, embedding)


def _exponent(zipf: Zipf, feature: Feature) -> float:
    return float(zipf.get(feature.name, 0.0) if isinstance(zipf, Mapping) else zipf)


def _mlp(spec: ModelSpec, stem: str, batch: int) -> Iterator[PlacedComponent]:
    layers = [layer for layer in spec.mlp_layers if layer[0].startswith(f"{stem}.")]
    for i, (_, inputs, outputs) in enumerate(layers):
        path = _NAMES[spec.architecture][stem]
        yield PlacedComponent(path=f"{path}.{i}", component=linear(batch, inputs, outputs))
        if stem != "top_mlp" or i < len(layers) - 1:
            yield PlacedComponent(path=f"{path}.relu_{i}", component=elementwise(batch, "relu", outputs))


def _interaction(spec: ModelSpec, batch: int) -> Iterator[PlacedComponent]:
    vectors = len(spec.embeddings) + bool(spec.dense_features)
    if spec.interaction == "fm":
        yield PlacedComponent(path="inter_arch.flatten", component=_concat(batch, spec.vectors_width, vectors))
        yield from _mlp(spec, "deep_mlp", batch)
        machine = make_component("interaction", batch, {"function": "fm", "width": spec.vectors_width})
        yield PlacedComponent(path="inter_arch.fm", component=machine)
        parts = 2 + bool(spec.dense_features)
        yield PlacedComponent(path="inter_arch.concat", component=_concat(batch, spec.interaction_width, parts))
        return
    shape: dict[str, int | float | str] = {"function": spec.interaction, "vectors": vectors}
    shape |= {"dim": spec.embeddings[0].width} if spec.interaction == "dot" else {"width": spec.interaction_width}
    yield PlacedComponent(path="interaction", component=make_component("interaction", batch, shape))


def _concat(batch: int, width: int, parts: int) -> Component:
    return make_component("concat", batch, {"width": width, "parts": parts})
