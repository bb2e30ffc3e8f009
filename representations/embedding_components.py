"""The components of one embedding, at the module paths of what `build_embedding` builds.

What runs on single ids before bags are summed has batch x pooling as its batch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from profiles.component import Component, make_component
from representations.placed_component import PlacedComponent
from representations.specs import (
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    MixedDimensionSpec,
    QuotientRemainderSpec,
    ReducedTableSpec,
    RobeSpec,
    TableSpec,
    TensorTrainSpec,
)

__all__ = ["Place", "elementwise", "embedding_components", "group_component", "linear"]

Shape = dict[str, int | float | str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where an embedding runs: module path, feature, samples per pass, and the Zipf exponent of the ids."""

    path: str
    feature: Feature
    batch: int
    zipf: float

    @property
    def ids(self) -> int:
        """Ids of one pass."""
        return max(1, round(self.batch * self.feature.pooling))

    def below(self, name: str) -> "Place":
        """The place of a child module."""
        return Place(path=f"{self.path}.{name}", feature=self.feature, batch=self.batch, zipf=self.zipf)

    def put(self, component: Component, name: str = "") -> PlacedComponent:
        """A component at a child module, or at this one."""
        path = f"{self.path}.{name}" if name else self.path
        return PlacedComponent(path=path, component=component, feature=self.feature.name)


def embedding_components(place: Place, spec: EmbeddingSpec) -> Iterator[PlacedComponent]:
    """Every component, in execution order."""
    return _COMPONENTS[type(spec)](place, spec)


def group_component(
    features: Sequence[Feature], specs: Sequence[TableSpec], batch: int, exponents: Sequence[float]
) -> Component:
    """Tables that one call looks up, described as equal ones of the same rows, ids and skew in all."""
    first, count = specs[0], len(specs)
    shape: Shape = {
        "tables": count,
        "rows": sum(feature.cardinality for feature in features),
        "dim": first.dim,
        "pooling": sum(feature.pooling for feature in features) / count,
        "zipf": sum(exponents) / count,
        "backend": first.backend,
    }
    return make_component("embedding_group", batch, shape, dtype=first.dtype)


def linear(batch: int, inputs: int, outputs: int) -> Component:
    """A linear layer with a bias."""
    return make_component("linear", batch, {"in_features": inputs, "out_features": outputs})


def elementwise(batch: int, function: str, width: int) -> Component:
    """A function of every number of [batch, width]."""
    return make_component("elementwise", batch, {"function": function, "width": width})


def _table(place: Place, spec: TableSpec) -> Iterator[PlacedComponent]:
    if spec.backend == "torch":
        yield place.put(_lookup(place, spec, place.feature.cardinality))
    else:
        yield place.put(group_component((place.feature,), (spec,), place.batch, (place.zipf,)), "group")


def _lookup(place: Place, spec: TableSpec, rows: int, *, single: bool = False) -> Component:
    """A look-up of bags, or of `single` ids."""
    shape: Shape = {
        "rows": rows,
        "dim": spec.dim,
        "pooling": 1.0 if single else place.feature.pooling,
        "zipf": place.zipf,
        "backend": spec.backend,
    }
    return make_component("embedding", place.ids if single else place.batch, shape, dtype=spec.dtype)


def _hybrid(place: Place, spec: HybridSpec) -> Iterator[PlacedComponent]:
    yield from _table(place.below("table"), spec.table)
    yield from _dhe(place.below("dhe"), spec.dhe)
    yield place.put(make_component("concat", place.batch, {"width": spec.width, "parts": 2}), "concat")


def _dhe(place: Place, spec: DheSpec) -> Iterator[PlacedComponent]:
    shape: Shape = {"k": spec.k, "rows": place.feature.cardinality, "transform": spec.transform}
    yield place.put(make_component("dhe_encoder", place.ids, shape), "encoder")
    for name, component in _decoder(spec, place.ids):
        yield place.put(component, f"decoder.{name}")
    yield from _pool(place, spec.dim)


def _decoder(spec: DheSpec, ids: int) -> Iterator[tuple[str, Component]]:
    for i, (inputs, outputs) in enumerate(spec.layers):
        yield str(i), linear(ids, inputs, outputs)
        if i == len(spec.widths):
            return
        if spec.norm == "batch":
            yield f"norm_{i}", elementwise(ids, "batch_norm", outputs)
        yield f"{spec.activation}_{i}", elementwise(ids, spec.activation, outputs)


def _quotient_remainder(place: Place, spec: QuotientRemainderSpec) -> Iterator[PlacedComponent]:
    if spec.is_plain(place.feature):
        yield from _table(place, TableSpec(dim=spec.width))
        return
    is_product = spec.operation == "mult"
    yield place.put(make_component("id_split", place.ids), "split")
    for name, rows in zip(("quotient", "remainder"), spec.rows(place.feature), strict=True):
        yield place.put(_lookup(place, TableSpec(dim=spec.dim), rows, single=is_product), name)
    if spec.operation == "concat":
        yield place.put(make_component("concat", place.batch, {"width": spec.width, "parts": 2}), "combine")
    elif is_product:
        yield place.put(elementwise(place.ids, "multiply", spec.dim), "combine")
        yield from _pool(place, spec.dim)
    else:
        yield place.put(elementwise(place.batch, "add", spec.dim), "combine")


def _reduced_table(place: Place, spec: ReducedTableSpec) -> Iterator[PlacedComponent]:
    if spec.kept_by == "frequency":
        yield place.put(make_component("id_map", place.ids, {"rows": place.feature.cardinality}), "numbers")
    else:
        yield place.put(make_component("id_split", place.ids), "split")
    yield place.put(_lookup(place, spec.table, spec.rows), "table")


def _mixed_dimension(place: Place, spec: MixedDimensionSpec) -> Iterator[PlacedComponent]:
    if not spec.has_projection:
        yield from _table(place, TableSpec(dim=spec.dim))
        return
    yield from _table(place.below("table"), TableSpec(dim=spec.inner_dim))
    shape: Shape = {"in_features": spec.inner_dim, "out_features": spec.dim}
    yield place.put(make_component("projection", place.batch, shape), "projection")


def _tensor_train(place: Place, spec: TensorTrainSpec) -> Iterator[PlacedComponent]:
    # The number of cores is text, so that chains of unequal length are different families.
    shape: Shape = {"cores": str(len(spec.q)), "rank": spec.rank}
    shape |= {f"p_{i}": p for i, p in enumerate(spec.p(place.feature))}
    shape |= {f"q_{i}": q for i, q in enumerate(spec.q)}
    yield place.put(make_component("tensor_train", place.ids, shape), "cores")
    yield from _pool(place, spec.dim)


def _robe(place: Place, spec: RobeSpec) -> Iterator[PlacedComponent]:
    shape: Shape = {
        "floats": spec.floats,
        "block": spec.block,
        "dim": spec.dim,
        "rows": place.feature.cardinality,
        "zipf": place.zipf,
    }
    yield place.put(make_component("robe", place.ids, shape), "rows")
    yield from _pool(place, spec.dim)


def _pool(place: Place, width: int) -> Iterator[PlacedComponent]:
    if place.feature.pooling != 1:
        shape: Shape = {"function": "sum_pool", "width": width, "pooling": place.feature.pooling}
        yield place.put(make_component("elementwise", place.ids, shape), "pool")


_COMPONENTS: Mapping[type[EmbeddingSpec], Callable[[Place, Any], Iterator[PlacedComponent]]] = {
    TableSpec: _table,
    DheSpec: _dhe,
    HybridSpec: _hybrid,
    QuotientRemainderSpec: _quotient_remainder,
    MixedDimensionSpec: _mixed_dimension,
    TensorTrainSpec: _tensor_train,
    ReducedTableSpec: _reduced_table,
    RobeSpec: _robe,
}
