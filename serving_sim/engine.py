"""Simulate a plan: draw queries chunk by chunk, serve them through the kernel, report.

The first 1 % of a run's queries (10,000 at most) warm the queues up: they are served, but not counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from profiles.units import MS_PER_S
from serving_sim.backlog import MOST_BINS, Backlog
from serving_sim.fluid_bound import FluidRows, best_prices, bound_at, collect_rows
from serving_sim.kernels import COUNTED, FIRST_MS, Chunk, dual_sum_chunk
from serving_sim.metrics import SimulationResult, summarise
from serving_sim.paths import PathTables, compile_paths
from serving_sim.plan import Plan
from serving_sim.policies import Policy, PolicyLike, as_policy, policy_label, routing_context
from serving_sim.run import Run, start_run
from serving_sim.shared_queries import QueryStream, SharedQueries
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

# Queries from which the bound's prices are found where service times scatter, so that each query is a row of its own.
_PILOT_QUERIES = 16_384


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
    bounded: bool
    prices_D: NDArray[np.float64] | None
    chunk: Chunk
    worth: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))
    served: int = 0
    seconds: float = 0.0

    def advance(self, queries: int) -> None:
        """Serve the next queries."""
        for _ in self.chunks(queries):
            pass

    def chunks(self, queries: int) -> Iterator[int]:
        """Serve the next queries and stop after each chunk, of which the first so many places of `chunk` are filled."""
        left = queries
        while left > 0:
            count = min(left, len(self.chunk.size_N))
            start = perf_counter()
            self._serve(count)
            self.seconds += perf_counter() - start
            left -= count
            yield count

    def _serve(self, count: int) -> None:
        self.stream.fill(self.chunk, count)
        self.run.serve(self.chunk, count)
        self.backlog.add(self.chunk, count, self.run.paths.device_P)
        if self.prices_D is not None:
            skip = min(max(self.run.warmup - self.served, 0), count)
            dual_sum_chunk(self.chunk, count, skip, self.run.sla_ms, self.prices_D, self.run.paths, self.worth)
        self.served += count

    def result(self) -> SimulationResult:
        """What the queries served so far came to."""
        if self.run.totals.counts[COUNTED] == 0:
            raise InputError("queries: must be > 0 for a result, but none was served")
        label = policy_label(self.policy)
        return summarise(self.plan, label, self.run, self.backlog, self.seconds, self._bound())

    def _bound(self) -> float | None:
        if not self.bounded:
            return None
        window_ms = self.run.queues.clock_ms[0] - self.run.totals.sums[FIRST_MS] + self.run.sla_ms
        available_ms_D = self.run.paths.servers_D * window_ms
        if self.prices_D is not None:
            return float(self.worth[0] + self.prices_D @ available_ms_D)
        rows = _counted_rows(self.run)
        return bound_at(rows, best_prices(rows, np.inf, available_ms_D), available_ms_D)[0]


def simulate(
    plan: Plan,
    *,
    policy: PolicyLike | None = None,
    queries: int | None = None,
    seed: int | None = None,
    qps: float | None = None,
    sla_ms: float | None = None,
    options: SimulationOptions | None = None,
) -> SimulationResult:
    """Simulate the plan, with whatever is given here in place of what it says.

    Raises:
        InputError: an unknown policy, option, predicate or path; a trace that cannot be read; a bad value.
    """
    resolved = resolve_plan(plan, queries=queries, seed=seed, qps=qps, sla_ms=sla_ms)
    simulation = start_simulation(resolved, policy=policy, options=options)
    simulation.advance(resolved.workload.queries)
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
    run = start_run(
        tables.arrays,
        router.compile(routing_context(plan)),
        qps=load.qps,
        sla_ms=load.slas_ms,
        warmup=warmup_of(load.queries),
        exact=load.queries if load.queries <= options.exact_queries else 0,
    )
    chunk = empty_chunk(min(options.chunk_queries, load.queries), len(tables.spreads))
    bounded = options.fluid_bound and _service_is_at_least_drawn(tables)
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
        bounded=bounded,
        prices_D=_pilot_prices(plan, tables) if bounded and tables.arrays.uncertain_D.any() else None,
        chunk=chunk,
    )


def trace_run(plan: Plan, *, policy: PolicyLike | None = None, options: SimulationOptions | None = None) -> QueryTrace:
    """Every query of the plan's run, warm-up included; for runs that fit into memory."""
    simulation = start_simulation(plan, policy=policy, options=options)
    names = [part.name for part in fields(QueryTrace)]
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    for count in simulation.chunks(plan.workload.queries):
        for name in names:
            parts[name].append(getattr(simulation.chunk, name)[:count].copy())
    return QueryTrace(**{name: np.concatenate(values) for name, values in parts.items()})


def _service_is_at_least_drawn(tables: PathTables) -> bool:
    """Whether no query is served in less time than its draws say, on which the fluid bound rests."""
    conditions_PF = tables.arrays.conditions_PF
    return bool(np.all(conditions_PF[:, 1] >= 1) and np.all(conditions_PF[:, 2] == 0))


def _counted_rows(run: Run) -> FluidRows:
    """What was counted, by class and size; paths that take longer than the class's SLA are closed.

    Only for service times that do not scatter.
    """
    class_R, size_R = np.nonzero(run.totals.queries_CS)
    service_ms_RP = run.paths.service_ms_SP[size_R]
    late_RP = service_ms_RP > run.sla_ms_C[class_R, np.newaxis]
    return FluidRows(
        weight_R=run.totals.queries_CS[class_R, size_R].astype(np.float64),
        worth_RP=np.outer(size_R.astype(np.float64), run.paths.accuracy_P),
        service_ms_RP=np.where(late_RP, np.inf, service_ms_RP),
        paths=run.paths,
    )


def _pilot_prices(plan: Plan, tables: PathTables) -> NDArray[np.float64]:
    """Prices of device time for the fluid bound, from the run's first queries; any prices give a valid bound."""
    load = plan.workload
    pilot, counted = min(load.queries, _PILOT_QUERIES), load.queries - warmup_of(load.queries)
    chunk = empty_chunk(pilot, len(tables.spreads))
    WorkloadStream(load, tables.spreads, plan.seed).fill(chunk, pilot)
    first = warmup_of(load.queries) if pilot == load.queries else 0
    gaps = float(chunk.gap_N[first + 1 : pilot].sum())
    window_ms = gaps * MS_PER_S / load.qps + load.sla_ms * (pilot - first) / counted
    rows = collect_rows(chunk, first, pilot, tables.arrays)
    return best_prices(rows, load.sla_ms, window_ms * tables.arrays.servers_D.astype(np.float64))
