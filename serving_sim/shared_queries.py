"""Queries drawn once and served in many runs, for plans that differ in load, SLA, devices or policy alone."""

from dataclasses import dataclass, field
from typing import Protocol

from serving_sim.kernels import Chunk
from serving_sim.paths import PathTables, compile_paths
from serving_sim.plan import Plan, Workload
from serving_sim.sizes import mean_load_size
from serving_sim.workload import WorkloadStream, at_rate, empty_chunk

__all__ = ["DrawnStream", "QueryStream", "SharedQueries"]

# What is drawn beforehand is kept in memory: so many queries in all.
_MOST_QUERIES = 5_000_000


class QueryStream(Protocol):
    """Where a run's queries come from."""

    def fill(self, chunk: Chunk, count: int) -> None:
        """Put the next `count` queries into the chunk's gaps, classes, sizes and factors."""


@dataclass(kw_only=True, slots=True, eq=False)
class DrawnStream:
    """The queries of a chunk in their order, of which there must be as many as are asked for."""

    drawn: Chunk
    done: int = 0

    def fill(self, chunk: Chunk, count: int) -> None:
        """Copy the next `count` queries."""
        part = slice(self.done, self.done + count)
        chunk.gap_N[:count] = self.drawn.gap_N[part]
        chunk.size_N[:count] = self.drawn.size_N[part]
        chunk.class_N[:count] = self.drawn.class_N[part]
        chunk.factor_KN[:, :count] = self.drawn.factor_KN[:, part]
        self.done += count


@dataclass(kw_only=True, slots=True, eq=False)
class SharedQueries:
    """Tables of all plans so far, and the queries of the last ones, for a next one that has the same."""

    # With a plan of those paths: tables are known by the identity of its parts, which must not be freed meanwhile.
    _tables: dict[object, tuple[PathTables, Plan]] = field(default_factory=dict)
    _drawn: dict[object, Chunk] = field(default_factory=dict)
    _mean_samples: dict[object, float] = field(default_factory=dict)

    def tables(self, plan: Plan) -> PathTables:
        """The plan's paths, compiled."""
        load = plan.workload
        structure = (id(plan.paths), id(plan.devices), id(plan.caches), load.ids, load.sizes, load.classes)
        if structure not in self._tables:
            self._tables[structure] = (compile_paths(plan), plan)
        return self._tables[structure][0]

    def stream(self, plan: Plan) -> QueryStream:
        """The plan's queries, from the first."""
        load, spreads = plan.workload, self.tables(plan).spreads
        if load.queries > _MOST_QUERIES:
            return WorkloadStream(load, spreads, plan.seed)
        classes = tuple((one.share, one.sizes) for one in load.classes)
        queries = (load.queries, load.arrivals, load.sizes, classes, spreads, plan.seed)
        if queries not in self._drawn:
            while sum(len(chunk.size_N) for chunk in self._drawn.values()) + load.queries > _MOST_QUERIES:
                self._drawn.pop(next(iter(self._drawn)))
            self._drawn[queries] = empty_chunk(load.queries, len(spreads))
            WorkloadStream(load, spreads, plan.seed, timed=False).fill(self._drawn[queries], load.queries)
        return DrawnStream(drawn=at_rate(self._drawn[queries], load, plan.seed))

    def mean_samples(self, load: Workload) -> float:
        """Mean samples per query of a load."""
        sizes = (load.sizes, load.classes)
        if sizes not in self._mean_samples:
            self._mean_samples[sizes] = mean_load_size(load)
        return self._mean_samples[sizes]
