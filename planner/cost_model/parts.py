"""Rows of figures that add up to whole models: one for each part of a model that candidates can choose.

A part is the embedding of one feature, a group of tables that one call looks up, or all that is no embedding. Array
suffixes: R parts, C columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.containers import containers_of, embedding_of
from planner.cost_model.context import Context
from planner.cost_model.estimates import DeviceModel, Floats
from planner.cost_model.features import WorkFormula, family_of
from planner.cost_model.pass_counts import code_distances
from planner.cost_model.traffic import TABLE_KINDS, behind
from profiles.component import Component
from representations.components import PlacedComponent, components_of
from representations.embedding_components import Place, embedding_components, group_component
from representations.specs import EmbeddingSpec, Feature, ModelSpec, RobeSpec, TableSpec

__all__ = [
    "COLUMNS",
    "FAMILIES",
    "LATENCIES",
    "Part",
    "PartPrices",
    "dense_part",
    "embedding_part",
    "group_part",
    "grouped_as",
]

# What is added up; the first four of tables in a context come apart, see `PartPrices.table_rows`, and families, which
# parts may share, by `PartPrices.families`.
COLUMNS = (
    "mean_ms",
    "low_ms",
    "high_ms",
    "extrapolated",
    "components",
    "containers",
    "families",
    "code_distance",
    "table_bytes",
    "traffic_bytes",
    "flops",
    "parameter_bytes",
)
LATENCIES = 4
FAMILIES = COLUMNS.index("families")
_BITS = 64
_EMBEDDING = "embeddings.0"
Zipf = Mapping[str, float] | float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Part:
    """The components of a part at a batch, how many modules contain them, its FLOPs per sample and parameter bytes.

    The container of all embeddings counts as one of the part that is no embedding.
    """

    components: tuple[Component, ...]
    containers: int
    flops: float
    parameter_bytes: int


def exponent_of(zipf: Zipf, feature: Feature) -> float:
    """The Zipf exponent of a feature's ids."""
    return float(zipf.get(feature.name, 0.0) if isinstance(zipf, Mapping) else zipf)


def grouped_as(spec: EmbeddingSpec) -> TableSpec | None:
    """What tells the group of a table that is looked up with others, None for an embedding that runs alone."""
    return spec if isinstance(spec, TableSpec) and spec.backend != "torch" else None


def embedding_part(feature: Feature, spec: EmbeddingSpec, batch: int, zipf: Zipf, work: WorkFormula) -> Part:
    """One feature's embedding; a table of a group brings its bytes alone, and one in a shared array nothing."""
    own_bytes = 0 if isinstance(spec, RobeSpec) else spec.parameter_bytes(feature)
    if grouped_as(spec):
        return Part(components=(), containers=0, flops=0.0, parameter_bytes=own_bytes)
    at_batch, single = (
        list(
            embedding_components(
                Place(path=_EMBEDDING, feature=feature, batch=samples, zipf=exponent_of(zipf, feature)), spec
            )
        )
        for samples in (batch, 1)
    )
    return Part(
        components=tuple(one.component for one in at_batch),
        containers=len(_containers(at_batch)) - 1,
        flops=sum(work(one.component).flops for one in single),
        parameter_bytes=own_bytes,
    )


def group_part(features: Sequence[Feature], spec: TableSpec, batch: int, zipf: Zipf) -> Part:
    """Tables that one call looks up; their bytes are their features' parts."""
    exponents = [exponent_of(zipf, feature) for feature in features]
    component = group_component(features, [spec] * len(features), batch, exponents)
    return Part(components=(component,), containers=0, flops=0.0, parameter_bytes=0)


def dense_part(spec: ModelSpec, batch: int, zipf: Zipf, work: WorkFormula) -> Part:
    """All of a model but its embeddings."""
    at_batch, single = (
        [one for one in components_of(spec, samples, zipf=zipf) if not embedding_of(one.path)] for samples in (batch, 1)
    )
    return Part(
        components=tuple(one.component for one in at_batch),
        containers=len(_containers(at_batch)) + 1,
        flops=sum(work(one.component).flops for one in single),
        parameter_bytes=spec.parameter_bytes - spec.embedding_bytes,
    )


def _containers(placed: Iterable[PlacedComponent]) -> set[str]:
    return {container for one in placed for container in containers_of(one.path)}


class PartPrices:
    """Prices the components of parts on a device that holds so much; each distinct one is asked for once, ever.

    Where the context has profiles of tables, these are `apart`: their latencies are not in a part's row, as they depend
    on the rest of the model.
    """

    def __init__(self, model: DeviceModel, work: WorkFormula, resident_bytes: int, context: Context) -> None:
        self._model, self._work, self._resident_bytes = model, work, resident_bytes
        self.apart = context.has_table_profiles
        self._known: dict[Component, tuple[float, ...]] = {}
        self._rows: dict[Part, list[float]] = {}
        self._table_rows: dict[tuple[Part, int], list[float]] = {}

    def rows(self, parts: Sequence[Part]) -> Floats:
        """[R, C]: the columns of each part."""
        new = [part for part in parts if part not in self._rows]
        self._price(one for part in new for one in part.components if not self._is_apart(one))
        self._rows |= {part: self._row(part) for part in new}
        return np.array([self._rows[part] for part in parts], dtype=np.float64).reshape(-1, len(COLUMNS))

    def families(self, parts: Sequence[Part]) -> NDArray[np.uint64]:
        """[R, W]: the families of each part's components, as bits of W words."""
        names = [{family_of(one) for one in part.components} for part in parts]
        place = {name: i for i, name in enumerate(sorted(set().union(*names)))}
        words_RW = np.zeros((len(parts), -(-len(place) // _BITS)), dtype=np.uint64)
        for row, own in enumerate(names):
            for name in own:
                words_RW[row, place[name] // _BITS] |= np.uint64(1 << place[name] % _BITS)
        return words_RW

    def table_rows(self, parts: Sequence[Part], context_bytes: int) -> Floats:
        """[R, 4]: the latencies of each part's tables behind so much traffic, and how many are extrapolated."""
        keys = [(part, context_bytes) for part in parts]
        new = [part for part, key in zip(parts, keys, strict=True) if key not in self._table_rows]
        within = [[behind(one, context_bytes) for one in part.components if one.kind in TABLE_KINDS] for part in new]
        self._price(one for tables in within for one in tables)
        for part, tables in zip(new, within, strict=True):
            row = [sum(column) for column in zip(*map(self._known.__getitem__, tables), strict=True)]
            self._table_rows[part, context_bytes] = row or [0.0] * LATENCIES
        return np.array([self._table_rows[key] for key in keys], dtype=np.float64).reshape(-1, LATENCIES)

    def _row(self, part: Part) -> list[float]:
        latencies, table_bytes, traffic_bytes = [0.0] * LATENCIES, 0.0, 0.0
        for one in part.components:
            moved = self._work(one).bytes_moved
            if one.kind in TABLE_KINDS:
                table_bytes += moved
            else:
                traffic_bytes += moved
            if not self._is_apart(one):
                latencies = [total + own for total, own in zip(latencies, self._known[one], strict=True)]
        distance = sum(code_distances([family_of(one) for one in part.components]))
        counts = (float(len(part.components)), float(part.containers), 0.0, float(distance))
        return [*latencies, *counts, table_bytes, traffic_bytes, part.flops, float(part.parameter_bytes)]

    def _is_apart(self, component: Component) -> bool:
        return self.apart and component.kind in TABLE_KINDS

    def _price(self, components: Iterable[Component]) -> None:
        new = tuple(dict.fromkeys(one for one in components if one not in self._known))
        if not new:
            return
        estimates = self._model.predict(new, resident_bytes=self._resident_bytes)
        columns = (estimates.mean_ms, estimates.low_ms, estimates.high_ms, estimates.extrapolated.astype(np.float64))
        self._known |= dict(zip(new, zip(*(column.tolist() for column in columns), strict=True), strict=True))
