"""MP-Cache around the DHEs of a plan's paths: latency over the share of lookups that miss the encoder cache."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.cost_model.composition import CostModel
from planner.cost_model.host_inputs import inputs_of
from profiles.component import Component, make_component
from representations.components import PlacedComponent, components_of
from representations.embedding_components import elementwise, linear
from representations.specs import BYTES_PER_FLOAT, DheSpec, Feature, HybridSpec, ModelSpec
from serving_sim.ids import hit_rate
from serving_sim.plan import Cache, HitCurve, Ids, LatencyTable, Path, Plan

__all__ = ["MpCache", "has_stacks", "with_mp_cache", "zipf_hit_rate"]

_NAME = "mp-cache"
_MISS_SHARES = (0.0, 1 / 64, 0.25, 1.0)
_STACK = re.compile(r"\.(encoder|decoder)(\.|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class MpCache:
    """A static cache of final embeddings, shared evenly by the features, and what takes the place of the decoder.

    Without `centroids` misses run through the whole stack; with them the nearest of so many stands for the decoder.
    """

    encoder_bytes: int = 0
    centroids: int = 0

    def entry_bytes(self, spec: ModelSpec) -> int:
        """Bytes of a cached embedding, 0 in a model without a DHE."""
        return BYTES_PER_FLOAT * max((dhe.dim for one in spec.embeddings if (dhe := _dhe_of(one))), default=0)

    def entries(self, spec: ModelSpec) -> int:
        """Entries of the encoder cache for each feature of a model."""
        entry_bytes = self.entry_bytes(spec)
        return self.encoder_bytes // entry_bytes // len(spec.features) if entry_bytes else 0


def has_stacks(spec: ModelSpec) -> bool:
    """Whether any feature of the model has a DHE."""
    return any(_dhe_of(one) is not None for one in spec.embeddings)


def zipf_hit_rate(features: Sequence[Feature], entries: int, exponent: float) -> float:
    """The share of lookups that hit, where each feature's most frequent ids are cached; ids by Zipf's law."""
    if entries == 0:
        return 0.0
    cache = Cache(name=_NAME, capacity_bytes=entries, entry_bytes=1)
    kinds = [Ids(kind="zipf", exponent=exponent, rows=feature.cardinality) for feature in features]
    return float(np.mean([hit_rate(cache, ids) for ids in kinds]))


def with_mp_cache(
    plan: Plan, specs: Mapping[str, ModelSpec], cost_model: CostModel, cache: MpCache, zipf: float
) -> Plan:
    """The plan with that cache in front of every path that has a DHE; `specs` are the candidates' models by name."""
    resident = {
        device.name: sum(path.parameter_bytes for path in plan.paths if path.device == device.name)
        for device in plan.devices
    }
    paths = tuple(
        _cached(path, specs[path.candidate], cost_model, cache, zipf, resident[path.device])
        if has_stacks(specs[path.candidate])
        else path
        for path in plan.paths
    )
    cached = next((specs[path.candidate] for path in plan.paths if has_stacks(specs[path.candidate])), None)
    entries = cache.entries(cached) if cached else 0
    if cached is None or entries == 0:
        return replace(plan, paths=paths)
    rate = zipf_hit_rate(cached.features, entries, zipf)
    described = Cache(
        name=_NAME,
        capacity_bytes=cache.encoder_bytes,
        entry_bytes=cache.entry_bytes(cached),
        features=len(cached.features),
        hit_rate=HitCurve(entries=(entries,), rates=(rate,)),
    )
    return replace(plan, paths=paths, caches=(described,))


def _cached(
    path: Path, spec: ModelSpec, cost_model: CostModel, cache: MpCache, zipf: float, resident_bytes: int
) -> Path:
    entries, sizes = cache.entries(spec), path.latency.sizes
    inputs = [inputs_of(spec.features, spec.dense_features, size) for size in sizes]

    def row_ms(share: float) -> tuple[float, ...]:
        placed = [tuple(_components(spec, size, share, entries, cache.centroids, zipf)) for size in sizes]
        predicted = cost_model.predict_placed(placed, sizes, path.device, inputs=inputs, resident_bytes=resident_bytes)
        return tuple(np.maximum.accumulate(predicted.mean_ms).tolist())

    if entries == 0:
        return replace(path, latency=LatencyTable(sizes=sizes, mean_ms=row_ms(1.0)))
    rows = tuple(row_ms(share) for share in _MISS_SHARES)
    table = LatencyTable(sizes=sizes, mean_ms=rows[-1], miss_shares=_MISS_SHARES, mean_by_miss_share_ms=rows)
    return replace(path, latency=table, cache=_NAME)


def _components(
    spec: ModelSpec, batch: int, miss_share: float, entries: int, centroids: int, zipf: float
) -> Iterator[PlacedComponent]:
    """A pass in which so many of each feature's ids miss; a DHE that all ids hit does not run.

    One look-up probes the cache for all features.
    """
    stacks = {
        feature.name: dhe
        for feature, one in zip(spec.features, spec.embeddings, strict=True)
        if (dhe := _dhe_of(one)) is not None
    }
    if entries:
        yield PlacedComponent(path=_NAME, component=_lookup(batch * len(stacks), entries * len(stacks), _dim(stacks)))
    for placed in components_of(spec, batch, zipf=zipf):
        part = _STACK.search(placed.path)
        if part is None:
            yield placed
            continue
        dhe, missed = stacks[placed.feature], round(placed.component.batch * miss_share)
        is_first = part[1] == "encoder"
        if missed == 0:
            continue
        if is_first or not centroids:
            yield replace(placed, component=replace(placed.component, batch=missed))
        if is_first and centroids:
            for component in _nearest(missed, dhe, centroids):
                yield replace(placed, component=component)


def _dim(stacks: Mapping[str, DheSpec]) -> int:
    return max(dhe.dim for dhe in stacks.values())


def _nearest(ids: int, dhe: DheSpec, centroids: int) -> Iterator[Component]:
    """The nearest centroid by the largest product, and its decoded embedding."""
    yield linear(ids, dhe.k, centroids)
    yield elementwise(ids, "argmax", centroids)
    yield _lookup(ids, centroids, dhe.dim)


def _lookup(ids: int, rows: int, dim: int) -> Component:
    shape: dict[str, int | float | str] = {
        "rows": rows, "dim": dim, "pooling": 1.0, "zipf": 0.0, "backend": "torch",
    }  # fmt: skip
    return make_component("embedding", ids, shape)


def _dhe_of(embedding: object) -> DheSpec | None:
    if isinstance(embedding, HybridSpec):
        return embedding.dhe
    return embedding if isinstance(embedding, DheSpec) else None
