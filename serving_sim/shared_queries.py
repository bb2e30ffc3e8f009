"""Queries drawn once and served in many runs, for plans that differ in load, SLA, devices or policy alone."""

from dataclasses import dataclass, field
from typing import Protocol

from serving_sim.kernels import Chunk
from serving_sim.paths import PathTables, compile_paths
from serving_sim.plan import Plan
from serving_sim.workload import WorkloadStream, at_rate, empty_chunk

__all__ = ["DrawnStream", "QueryStream", "SharedQueries"]

# What is drawn beforehand is kept in memory.
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
    """Tables of all plans so far, and the queries of the last, for a next one whose paths or queries are the same."""

    # With a plan of those paths: tables are known by the identity of its parts, which must not be freed meanwhile.
    _tables: dict[object, tuple[PathTables, Plan]] = field(default_factory=dict)
    _queries: object = None
    _drawn: Chunk | None = None

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
        if self._drawn is None or queries != self._queries:
            self._queries, self._drawn = queries, empty_chunk(load.queries, len(spreads))
            WorkloadStream(load, spreads, plan.seed, timed=False).fill(self._drawn, load.queries)
        return DrawnStream(drawn=at_rate(self._drawn, load, plan.seed))
