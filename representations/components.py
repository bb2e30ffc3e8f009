"""The components that a model runs, by module path and in execution order, from its spec alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from profiles.component import Component, Work, make_component
from profiles.errors import InputError
from representations.specs import BYTES_PER_FLOAT, DheSpec, EmbeddingSpec, Feature, HybridSpec, ModelSpec, TableSpec
from representations.work import BYTES_PER_ID, work_of

__all__ = ["PlacedComponent", "components_of", "model_work", "work_of"]

Shape = dict[str, int | float | str]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedComponent:
    """A component and the path of the module that runs it; `feature` names whose embedding it belongs to."""

    path: str
    component: Component
    feature: str = ""


def components_of(
    spec: ModelSpec, batch: int, *, zipf: Mapping[str, float] | float = 0.0
) -> tuple[PlacedComponent, ...]:
    """Every component of one forward pass over `batch` samples, at the module paths of the built `Dlrm`.

    `zipf` is the exponent of the id distribution, for all features or by feature name (0, uniform, where absent).
    A DHE of a pooled feature runs on all its ids, so that its components' batch is `batch` x pooling.
    """
    if batch < 1:
        raise InputError(f"components: batch must be >= 1, but got {batch}")
    return (
        *_mlp(spec, "bottom_mlp", batch),
        *(
            placed
            for i, (feature, embedding) in enumerate(zip(spec.features, spec.embeddings, strict=True))
            for placed in _embedding(f"embeddings.{i}", feature, embedding, batch, _exponent(zipf, feature))
        ),
        PlacedComponent(path="interaction", component=_interaction(spec, batch)),
        *_mlp(spec, "top_mlp", batch),
    )


def model_work(spec: ModelSpec, batch: int, *, zipf: Mapping[str, float] | float = 0.0) -> Work:
    """The work of one forward pass; `input_bytes` is the dense features and each feature's ids, once."""
    parts = [work_of(placed.component) for placed in components_of(spec, batch, zipf=zipf)]
    ids = sum(feature.pooling for feature in spec.features) * batch
    return Work(
        flops=sum(part.flops for part in parts),
        bytes_moved=sum(part.bytes_moved for part in parts),
        parameter_bytes=sum(part.parameter_bytes for part in parts),
        input_bytes=batch * spec.dense_features * BYTES_PER_FLOAT + round(ids * BYTES_PER_ID),
    )


def _exponent(zipf: Mapping[str, float] | float, feature: Feature) -> float:
    return float(zipf.get(feature.name, 0.0) if isinstance(zipf, Mapping) else zipf)


def _mlp(spec: ModelSpec, stem: str, batch: int) -> Iterator[PlacedComponent]:
    layers = [layer for layer in spec.mlp_layers if layer[0].startswith(f"{stem}.")]
    for i, (path, inputs, outputs) in enumerate(layers):
        yield PlacedComponent(path=path, component=_linear(batch, inputs, outputs))
        if stem != "top_mlp" or i < len(layers) - 1:
            yield PlacedComponent(path=f"{stem}.relu_{i}", component=_elementwise(batch, "relu", outputs))


def _embedding(
    path: str, feature: Feature, embedding: EmbeddingSpec, batch: int, exponent: float
) -> Iterator[PlacedComponent]:
    if isinstance(embedding, TableSpec):
        yield PlacedComponent(path=path, component=_table(feature, embedding, batch, exponent), feature=feature.name)
    elif isinstance(embedding, DheSpec):
        yield from _dhe(path, feature, embedding, batch)
    else:
        yield from _hybrid(path, feature, embedding, batch, exponent)


def _hybrid(
    path: str, feature: Feature, embedding: HybridSpec, batch: int, exponent: float
) -> Iterator[PlacedComponent]:
    yield from _embedding(f"{path}.table", feature, embedding.table, batch, exponent)
    yield from _embedding(f"{path}.dhe", feature, embedding.dhe, batch, exponent)
    joined = make_component("concat", batch, {"width": embedding.width, "parts": 2})
    yield PlacedComponent(path=f"{path}.concat", component=joined, feature=feature.name)


def _dhe(path: str, feature: Feature, embedding: DheSpec, batch: int) -> Iterator[PlacedComponent]:
    ids = max(1, round(batch * feature.pooling))
    shape: Shape = {"k": embedding.k, "rows": feature.cardinality, "transform": embedding.transform}
    yield PlacedComponent(
        path=f"{path}.encoder", component=make_component("dhe_encoder", ids, shape), feature=feature.name
    )
    for name, component in _decoder(embedding, ids):
        yield PlacedComponent(path=f"{path}.decoder.{name}", component=component, feature=feature.name)
    if feature.pooling != 1:
        pool = make_component(
            "elementwise", ids, {"function": "sum_pool", "width": embedding.dim, "pooling": feature.pooling}
        )
        yield PlacedComponent(path=f"{path}.pool", component=pool, feature=feature.name)


def _decoder(embedding: DheSpec, ids: int) -> Iterator[tuple[str, Component]]:
    for i, (inputs, outputs) in enumerate(embedding.layers):
        yield str(i), _linear(ids, inputs, outputs)
        if i == len(embedding.widths):
            return
        if embedding.norm == "batch":
            yield f"norm_{i}", _elementwise(ids, "batch_norm", outputs)
        yield f"{embedding.activation}_{i}", _elementwise(ids, embedding.activation, outputs)


def _interaction(spec: ModelSpec, batch: int) -> Component:
    vectors = len(spec.embeddings) + bool(spec.dense_features)
    shape: Shape = {"function": spec.interaction, "vectors": vectors}
    shape |= {"dim": spec.embeddings[0].width} if spec.interaction == "dot" else {"width": spec.interaction_width}
    return make_component("interaction", batch, shape)


def _table(feature: Feature, table: TableSpec, batch: int, exponent: float) -> Component:
    shape: Shape = {
        "rows": feature.cardinality,
        "dim": table.dim,
        "pooling": feature.pooling,
        "zipf": exponent,
        "backend": "torch",
    }
    return make_component("embedding", batch, shape)


def _linear(batch: int, inputs: int, outputs: int) -> Component:
    return make_component("linear", batch, {"in_features": inputs, "out_features": outputs})


def _elementwise(batch: int, function: str, width: int) -> Component:
    return make_component("elementwise", batch, {"function": function, "width": width})
