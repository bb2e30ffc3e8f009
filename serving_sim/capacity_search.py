"""The highest rate at which a policy holds the SLA percentile over one seed's queries.

The queries are drawn once and served again at every rate (common random numbers). A policy's rule may depend on the
rate, so that it holds the SLA at one rate and not at a lower one: rates are tried on a geometric grid from the highest
down, and the step above the first that holds is bisected. The highest is the fluid bound of the drawn queries on the
paths that the policy uses; where a policy may refuse queries, that of the queries that it may not refuse.

A finite run can hold a loose SLA while its queues grow all along, so a rate also has to leave no more work behind than
chance explains: the drain after the last arrival, less one service, is at most 1 % or 2 / sqrt(queries) of the run.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from profiles.errors import UnknownNameError
from profiles.units import MS_PER_S, format_ms
from serving_sim import kernels
from serving_sim.early_stopping import most_late
from serving_sim.engine import warmup_of
from serving_sim.events import event_plan, start_with
from serving_sim.fluid_bound import FluidRows, collect_rows, upper_bound_qps
from serving_sim.histogram import rank
from serving_sim.kernels import Chunk, Rule
from serving_sim.metrics import holds_sla
from serving_sim.paths import PathTables, compile_paths
from serving_sim.plan import HIGHEST_QPS, LOWEST_QPS, Plan
from serving_sim.policies import Policy, compile_rule
from serving_sim.run import Run, start_run
from serving_sim.run_bound import cheapest_paths
from serving_sim.sizes import mean_load_size
from serving_sim.workload import WorkloadStream, at_rate, empty_chunk

__all__ = ["SeedCapacity", "Trial", "draw_trial", "figures_at", "search_capacity", "served_share_of"]

# The grid of rates: from the highest down to a thousandth of it, where few queries meet a queue.
_GRID = tuple(2 ** (-step / 2) for step in range(21))
_GROWTH_SHARE, _GROWTH_SIGMAS = 0.01, 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedCapacity:
    """What one seed says of a policy: its capacity (0 where no rate holds), and figures at it, or at the lowest rate.

    `highest_qps` is what the policy's paths sustain at most; `late_share_C` is per class of queries.
    """

    max_qps: float
    highest_qps: float
    accuracy: float = 0.0
    correct_per_s: float = 0.0
    in_sla_per_s: float = 0.0
    late_share_C: tuple[float, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Trial:
    """One seed's queries, ready to be served at any rate."""

    plan: Plan
    tables: PathTables
    chunk: Chunk
    mean_samples: float
    early_stopping: bool = False

    def serve(self, policy: Policy, qps: float) -> Run:
        """Serve the queries at that rate."""
        plan, queries = self.plan.at(qps=qps), len(self.chunk.size_N)
        rule = compile_rule(policy, plan, self.mean_samples)
        general = event_plan(plan, rule)
        run = start_run(
            self.tables.arrays,
            rule,
            qps=qps,
            sla_ms=plan.workload.slas_ms,
            warmup=warmup_of(queries),
            events=None if general is None else start_with(general, len(self.tables.spreads), queries),
        )
        run.serve(at_rate(self.chunk, plan.workload, plan.seed), queries)
        run.finish()
        return run

    def holds(self, policy: Policy, qps: float) -> bool:
        """Whether every class holds its SLA at that rate, with queues that do not grow."""
        return self.is_held(self.serve(policy, qps))

    def is_held(self, run: Run) -> bool:
        """The same of a run."""
        percentile = self.plan.workload.percentile
        # Of few queries, all have to be in time.
        held = _passes_early(run, percentile) if self.early_stopping else holds_sla(run, percentile) is not False
        return held and not self._backlog_grows(run)

    def _backlog_grows(self, run: Run) -> bool:
        last_arrival_ms, queries = float(run.queues.clock_ms[0]), len(self.chunk.size_N)
        drain_ms = float(run.totals.sums[kernels.LAST_FINISH_MS]) - last_arrival_ms
        share = max(_GROWTH_SHARE, _GROWTH_SIGMAS / math.sqrt(queries))
        # The general loop leaves the chunk as it was drawn.
        service_ms = 0.0 if run.events is not None else float(self.chunk.service_ms_N.max())
        return drain_ms - service_ms > share * last_arrival_ms

    def rows(self) -> FluidRows:
        """The queries as rows of the fluid program."""
        return collect_rows(self.chunk, 0, len(self.chunk.size_N), self.tables.arrays)

    def rows_and_share(self, policy: Policy) -> tuple[FluidRows, float]:
        """The rows on the paths of the policy's rule, and the share of queries that it has to serve."""
        rule = compile_rule(policy, self.plan, self.mean_samples)
        used = rule.path_E[:1] if rule.kind == kernels.FIXED else np.unique(rule.path_E)
        paths = cheapest_paths(self.tables.arrays, rule, event_plan(self.plan, rule))
        rows = collect_rows(self.chunk, 0, len(self.chunk.size_N), paths)
        return rows.on_paths(used), served_share_of(rule, self.plan.workload.percentile, len(self.chunk.size_N))


def draw_trial(plan: Plan, queries: int, tables: PathTables | None = None, *, early_stopping: bool = False) -> Trial:
    """The first queries of the plan's seed; `tables` saves compiling its paths again."""
    tables = tables or compile_paths(plan)
    chunk = empty_chunk(queries, len(tables.spreads))
    WorkloadStream(plan.workload, tables.spreads, plan.seed, timed=False).fill(chunk, queries)
    return Trial(
        plan=plan,
        tables=tables,
        chunk=chunk,
        mean_samples=mean_load_size(plan.workload),
        early_stopping=early_stopping,
    )


def search_capacity(trial: Trial, policy: Policy, resolution: float, *, look_below: bool = False) -> SeedCapacity:
    """The policy's capacity, to a relative `resolution`; `look_below` notes where it does not hold at lower rates.

    0 with a note where the plan lacks what the policy needs.
    """
    try:
        rows, served_share = trial.rows_and_share(policy)
    except UnknownNameError as error:
        return SeedCapacity(max_qps=0.0, highest_qps=0.0, note=str(error))
    highest = min(upper_bound_qps(rows, served_share), HIGHEST_QPS)
    rates = [max(highest * share, LOWEST_QPS) for share in _GRID]
    place = next((place for place, qps in enumerate(rates) if trial.holds(policy, qps)), None)
    max_qps = 0.0 if place is None else rates[place]
    if place:
        max_qps = _bisect(lambda qps: trial.holds(policy, qps), rates[place], rates[place - 1], resolution)
    run = trial.serve(policy, max_qps or rates[-1])
    found = figures_at(run, max_qps=max_qps, highest_qps=highest)
    if not max_qps:
        return replace(found, note=_miss(trial, run))
    return replace(found, note=_lower_gap(trial, policy, found)) if look_below else found


def served_share_of(rule: Rule, percentile: float, queries: int) -> float:
    """The share of queries that a policy has to serve. One that may refuse may do so to all that are not counted, and
    to as many of the others as may be late.
    """
    return percentile / 100 * (1 - warmup_of(queries) / queries) if rule.kind == kernels.PRICED else 1.0


def figures_at(run: Run, *, max_qps: float, highest_qps: float) -> SeedCapacity:
    """What a run at that capacity comes to."""
    sums, counts, counts_CF = run.totals.sums, run.totals.counts, run.totals.counts_CF
    span_s = float(sums[kernels.LAST_FINISH_MS] - sums[kernels.FIRST_MS]) / MS_PER_S
    late_share_C = counts_CF[:, kernels.VIOLATIONS] / np.maximum(counts_CF[:, kernels.COUNTED], 1)
    return SeedCapacity(
        max_qps=max_qps,
        highest_qps=highest_qps,
        accuracy=float(sums[kernels.CORRECT]) / max(int(counts[kernels.SAMPLES]), 1),
        correct_per_s=float(sums[kernels.CORRECT]) / span_s if span_s > 0 else 0.0,
        in_sla_per_s=float(sums[kernels.CORRECT_IN_SLA]) / span_s if span_s > 0 else 0.0,
        late_share_C=tuple(late_share_C.tolist()),
    )


def _passes_early(run: Run, percentile: float) -> bool:
    """MLPerf's verdict on every class that has queries."""
    counts_CF = run.totals.counts_CF
    return all(
        int(late) <= most_late(int(counted), percentile)
        for counted, late in zip(counts_CF[:, kernels.COUNTED], counts_CF[:, kernels.VIOLATIONS], strict=True)
        if counted
    )


def _bisect(holds: Callable[[float], bool], low: float, high: float, resolution: float) -> float:
    """The rate, to relative `resolution`, up to which the SLA holds; it holds at `low` and not at `high`."""
    while high > low * (1 + resolution):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _lower_gap(trial: Trial, policy: Policy, found: SeedCapacity) -> str:
    """Where the rates that hold end below, if they do; to the width of the grid."""
    lowest = found.max_qps
    for qps in (max(found.highest_qps * share, LOWEST_QPS) for share in _GRID):
        if qps >= found.max_qps:
            continue
        if not trial.holds(policy, qps):
            return f"the SLA holds between {lowest:.4g} and {found.max_qps:.4g} queries/s, not below: not at {qps:.4g}"
        lowest = qps
    return ""


def _miss(trial: Trial, run: Run) -> str:
    """By how much an idle system misses the SLA: that of the class which it misses by most."""
    load, arrays, chunk = trial.plan.workload, trial.tables.arrays, trial.chunk
    counts_CF = run.totals.counts_CF
    late_share_C = counts_CF[:, kernels.VIOLATIONS] / np.maximum(counts_CF[:, kernels.COUNTED], 1)
    worst = int(np.where(counts_CF[:, kernels.COUNTED] > 0, late_share_C, -1.0).argmax())
    sla_ms = load.slas_ms[worst]
    fastest_ms = np.sort(arrays.service_ms_SP.min(axis=1)[chunk.size_N[chunk.class_N == worst]])
    needed_ms = float(fastest_ms[rank(load.percentile, len(fastest_ms))])
    gap = needed_ms - sla_ms
    nothing = "no query in one part" if run.rule.kind == kernels.SPLIT else "nothing"
    how = f"misses by {format_ms(gap)}: {nothing} can meet it" if gap > 0 else f"would leave {format_ms(-gap)}"
    whose = f" ({load.classes[worst].name})" if load.classes else ""
    return (
        f"even on idle devices {late_share_C[worst]:.2%} of queries exceed the SLA of {format_ms(sla_ms)}{whose}; at "
        f"the {load.percentile:g}th percentile the fastest path takes {format_ms(needed_ms)} and {how}"
    )
