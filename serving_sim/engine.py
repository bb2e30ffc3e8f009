"""Simulate a plan: draw queries chunk by chunk, serve them through the kernel, report.

The first 1 % of a run's queries (10,000 at most) warm the queues up: they are served, but not counted.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from profiles.units import MS_PER_S
from serving_sim.backlog import MOST_BINS, Backlog
from serving_sim.error_bars import sections_of, with_table_ends
from serving_sim.events import event_plan, start_with
from serving_sim.kernels import COUNTED, Chunk
from serving_sim.metrics import SimulationResult, summarise
from serving_sim.paths import compile_paths
from serving_sim.plan import Plan
from serving_sim.policies import Policy, PolicyLike, as_policy, compile_rule, policy_label
from serving_sim.run import Run, start_run
from serving_sim.run_bound import RunBound, start_bound
from serving_sim.shared_queries import QueryStream, SharedQueries
from serving_sim.table_errors import table_ends
from serving_sim.workload import WorkloadStream, empty_chunk

__all__ = [
    "QueryTrace",
    "Simulation",
    "SimulationOptions",
    "resolve_plan",
    "simulate",
    "start_simulation",
    "trace_run",
    "warmup_of",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulationOptions:
    """How a run is carried out; none of it changes what is simulated."""

    chunk_queries: int = 16_384
    exact_queries: int = 5_000_000
    fluid_bound: bool = True

    def __post_init__(self) -> None:
        if self.chunk_queries < 1:
            raise InputError(f"chunk_queries: must be >= 1, but got {self.chunk_queries}")
        if self.exact_queries < 0:
            raise InputError(f"exact_queries: must be >= 0, but got {self.exact_queries}")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class QueryTrace:
    """What became of each query: size, path (index in the plan), scheduled arrival, start and service time."""

    size_N: NDArray[np.int64]
    path_N: NDArray[np.int64]
    arrival_ms_N: NDArray[np.float64]
    start_ms_N: NDArray[np.float64]
    service_ms_N: NDArray[np.float64]

    @property
    def finish_ms_N(self) -> NDArray[np.float64]:  # noqa: N802 (a shape suffix)
        """When each query is done."""
        return self.start_ms_N + self.service_ms_N

    @property
    def latency_ms_N(self) -> NDArray[np.float64]:  # noqa: N802 (a shape suffix)
        """From the scheduled arrival to the finish."""
        return self.start_ms_N - self.arrival_ms_N + self.service_ms_N


@dataclass(kw_only=True, slots=True, eq=False)
class Simulation:
    """A simulation under way: `advance` it in steps of any size, ask for its `result` at any time after the first."""

    plan: Plan
    policy: Policy
    run: Run
    backlog: Backlog
    stream: QueryStream
    bound: RunBound | None
    chunk: Chunk
    seconds: float = 0.0

    def advance(self, queries: int) -> None:
        """Serve the next queries."""
        for _ in self.chunks(queries):
            pass

    def chunks(self, queries: int) -> Iterator[tuple[Chunk, int]]:
        """Serve the next queries; after each chunk, the queries that are done now: so many places of a chunk.

        They come in the order of arrival. `ending` gives those that are still in the system.
        """
        left = queries
        while left > 0:
            count = min(left, len(self.chunk.size_N))
            start = perf_counter()
            done = self._serve(count)
            self.seconds += perf_counter() - start
            left -= count
            yield done

    def ending(self) -> "Simulation":
        """A copy of this simulation with all queries at their end and none to follow."""
        bound = None if self.bound is None else self.bound.copy()
        ended = replace(self, run=self.run.copy(), backlog=deepcopy(self.backlog), bound=bound)
        if (left := ended.run.finish()) is not None:
            ended.note(*left)
        return ended

    def note(self, chunk: Chunk, count: int) -> tuple[Chunk, int]:
        """Keep what the queue over time and the bound need of queries that are done."""
        self.backlog.add(chunk, count, self.run.paths.device_P)
        if self.bound is not None:
            self.bound.add(chunk, count, self.run.warmup)
        return chunk, count

    def _serve(self, count: int) -> tuple[Chunk, int]:
        self.stream.fill(self.chunk, count)
        return self.note(*self.run.serve(self.chunk, count))

    def result(self) -> SimulationResult:
        """What the queries served so far came to."""
        ended = self if self.run.events is None else self.ending()
        if ended.run.totals.counts[COUNTED] == 0:
            raise InputError("queries: must be > 0 for a result, but none was served")
        bound = None if ended.bound is None else ended.bound.value(ended.run)
        return summarise(self.plan, policy_label(self.policy), ended.run, ended.backlog, self.seconds, bound)


def simulate(
    plan: Plan,
    *,
    policy: PolicyLike | None = None,
    queries: int | None = None,
    seed: int | None = None,
    qps: float | None = None,
    sla_ms: float | None = None,
    options: SimulationOptions | None = None,
    table_errors: bool = False,
) -> SimulationResult:
    """Simulate the plan, with whatever is given here in place of what it says.

    With `table_errors` also with tables at both ends of their error bars, where the plan has any: two runs more, of the
    same draws.

    Raises:
        InputError: an unknown policy, option, predicate or path; a trace that cannot be read; a bad value.
    """
    resolved = resolve_plan(plan, queries=queries, seed=seed, qps=qps, sla_ms=sla_ms)
    ends = table_ends(resolved) if table_errors else None
    if ends is None:
        return _run_whole(resolved, policy, options)
    # Queries are drawn once for all three.
    shared = SharedQueries()
    result = _run_whole(resolved, policy, options, shared)
    quick = replace(options or SimulationOptions(), fluid_bound=False)
    moved = [_run_whole(one, policy, quick, shared) for one in ends]
    classes = tuple(
        replace(one, error_bars=with_table_ends(one, others))
        for one, *others in zip(result.classes, *(other.classes for other in moved), strict=True)
    )
    return replace(result, error_bars=with_table_ends(result, moved), classes=classes)


def _run_whole(
    plan: Plan, policy: PolicyLike | None, options: SimulationOptions | None, shared: SharedQueries | None = None
) -> SimulationResult:
    simulation = start_simulation(plan, policy=policy, options=options, shared=shared)
    simulation.advance(plan.workload.queries)
    return simulation.result()


def resolve_plan(
    plan: Plan,
    *,
    queries: int | None = None,
    seed: int | None = None,
    qps: float | None = None,
    sla_ms: float | None = None,
) -> Plan:
    """The plan with what is given in place of what it says.

    Raises:
        InputError: a bad value, or an SLA for a plan whose classes have their own.
    """
    if sla_ms is not None and plan.workload.classes:
        raise InputError("sla_ms: the plan's classes of queries have their own; edit workload.classes.NAME.sla_ms")
    load = {"queries": queries, "qps": qps, "sla_ms": sla_ms}
    changed = plan.at(**{name: value for name, value in load.items() if value is not None})
    return replace(changed, seed=plan.seed if seed is None else seed)


def warmup_of(queries: int) -> int:
    """How many of a run's queries are served before counting starts: 1 %, 10,000 at most."""
    return min(queries // 100, 10_000)


def start_simulation(
    plan: Plan,
    *,
    policy: PolicyLike | None = None,
    options: SimulationOptions | None = None,
    shared: SharedQueries | None = None,
) -> Simulation:
    """A simulation of the plan before its first query; it warms up as befits the plan's number of queries.

    `shared` saves drawing queries and compiling paths again that another plan had too.
    """
    options = options or SimulationOptions()
    router = as_policy(plan.policy if policy is None else policy)
    load, tables = plan.workload, shared.tables(plan) if shared else compile_paths(plan)
    rule = compile_rule(router, plan, shared.mean_samples(load) if shared else None)
    events = event_plan(plan, rule)
    warmup = warmup_of(load.queries)
    sections, section_queries = sections_of(load.queries - warmup)
    run = start_run(
        tables.arrays,
        rule,
        qps=load.qps,
        sla_ms=load.slas_ms,
        warmup=warmup,
        exact=load.queries if load.queries <= options.exact_queries else 0,
        sections=sections,
        section_queries=section_queries,
        events=None if events is None else start_with(events, len(tables.spreads), load.queries),
    )
    chunk = empty_chunk(min(options.chunk_queries, load.queries), len(tables.spreads))
    backlog = Backlog(bin_ms=1.1 * load.queries * MS_PER_S / load.qps / MOST_BINS, devices=len(plan.devices))
    # Loads the compiled code before any clock runs.
    run.serve(chunk, 0)
    backlog.add(chunk, 0, tables.arrays.device_P)
    return Simulation(
        plan=plan,
        policy=router,
        run=run,
        backlog=backlog,
        stream=shared.stream(plan) if shared else WorkloadStream(load, tables.spreads, plan.seed),
        bound=start_bound(plan, tables, rule, events, warmup) if options.fluid_bound else None,
        chunk=chunk,
    )


def trace_run(plan: Plan, *, policy: PolicyLike | None = None, options: SimulationOptions | None = None) -> QueryTrace:
    """Every query of the plan's run, warm-up included; for runs that fit into memory."""
    simulation = start_simulation(plan, policy=policy, options=options)
    names = [part.name for part in fields(QueryTrace)]
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    for chunk, count in simulation.chunks(plan.workload.queries):
        _append(parts, chunk, count)
    if (left := simulation.run.finish()) is not None:
        _append(parts, *left)
    return QueryTrace(**{name: np.concatenate(values) for name, values in parts.items()})


def _append(parts: dict[str, list[NDArray[Any]]], chunk: Chunk, count: int) -> None:
    for name, values in parts.items():
        values.append(getattr(chunk, name)[:count].copy())
