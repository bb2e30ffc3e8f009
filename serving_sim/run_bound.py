"""The fluid bound of one run, gathered as its queries are done: what no policy beats on the same load.

Under a policy that joins or splits queries, device time is counted at the least that a query's samples can take. Time
in which a device has an outage is not there to be used (drawn failures are not taken off, which keeps the bound valid
and makes it looser). Where the rate changes over time or a device has outages, the prices of `window_bound` are
tried too, on runs that are short enough to be kept.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from profiles.units import MS_PER_S
from serving_sim.events import batching_of
from serving_sim.fluid_bound import FluidRows, best_prices, bound_at, collect_rows
from serving_sim.kernels import (
    COLD,
    CORRELATION,
    FIRST_MS,
    SPLIT,
    Chunk,
    EventPlan,
    Floats,
    PathArrays,
    Rule,
    dual_sum_chunk,
)
from serving_sim.paths import PathTables
from serving_sim.plan import Plan
from serving_sim.rates import is_steady
from serving_sim.run import Run
from serving_sim.window_bound import Downtime, best_per_sample, window_bound
from serving_sim.workload import WorkloadStream, empty_chunk

__all__ = ["RunBound", "cheapest_paths", "start_bound"]

# Queries from which prices are found where service times scatter, so that each query is a row of its own.
_PILOT_QUERIES = 16_384
# Queries up to which prices per window are tried, and how hard.
_MOST_KEPT = 100_000
_WINDOWS_SLA, _STEPS = (64.0, 8.0, 1.0), 10


@dataclass(kw_only=True, slots=True, eq=False)
class RunBound:
    """What is known so far. `paths` are at the least device time that the policy could need; `sla_ms_C` is infinite
    where a query's parts may be served side by side. `kept` holds the queries, where prices per window are tried.
    """

    paths: PathArrays
    sla_ms_C: Floats
    prices_D: Floats | None
    down: tuple[Downtime, ...]
    kept: list[Chunk] | None
    worth: Floats = field(default_factory=lambda: np.zeros(1))
    added: int = 0

    def add(self, chunk: Chunk, count: int, warmup: int) -> None:
        """Add the first `count` queries of a chunk, by arrival; the first `warmup` of the run do not count."""
        skip = min(max(warmup - self.added, 0), count)
        if self.prices_D is not None:
            dual_sum_chunk(chunk, count, skip, self.sla_ms_C, self.prices_D, self.paths, self.worth)
        if self.kept is not None and skip < count:
            self.kept.append(_part(chunk, skip, count))
        self.added += count

    def value(self, run: Run) -> float:
        """The bound on correct predictions in the SLA over the counted queries of the run."""
        first_ms = float(run.totals.sums[FIRST_MS])
        last_ms = float(run.queues.clock_ms[0]) + run.sla_ms
        available_ms_D = (last_ms - first_ms) * self.paths.servers_D.astype(np.float64)
        for time in self.down:
            lost_ms = max(0.0, min(last_ms, time.end_ms) - max(first_ms, time.start_ms))
            available_ms_D[time.device] -= self.paths.servers_D[time.device] * lost_ms
        if self.prices_D is not None:
            best = float(self.worth[0] + self.prices_D @ available_ms_D)
        else:
            rows = _counted_rows(run, self.paths, self.sla_ms_C)
            best = bound_at(rows, best_prices(rows, np.inf, available_ms_D), available_ms_D)[0]
        if self.kept and not run.overflow:
            chunk = _joined(self.kept)
            in_windows = window_bound(
                chunk, 0, self.paths, self.sla_ms_C, windows_sla=_WINDOWS_SLA, steps=_STEPS, down=self.down
            )
            best = min(best, in_windows)
        return best

    def copy(self) -> "RunBound":
        """One that goes on from here by itself."""
        return replace(self, worth=self.worth.copy(), kept=None if self.kept is None else list(self.kept))


def start_bound(plan: Plan, tables: PathTables, rule: Rule, events: EventPlan | None, warmup: int) -> RunBound | None:
    """The bound of a run of the plan; none where a service may take less time than its draws say."""
    conditions_PF, load = tables.arrays.conditions_PF, plan.workload
    if not (np.all(conditions_PF[:, COLD] >= 1) and np.all(conditions_PF[:, CORRELATION] == 0)):
        return None
    paths, splits = cheapest_paths(tables.arrays, rule, events), rule.kind == SPLIT
    down = tuple(
        Downtime(device=place, start_ms=outage.start_s * MS_PER_S, end_ms=outage.end_s * MS_PER_S)
        for place, device in enumerate(plan.devices)
        for outage in device.outages
    )
    changes = not is_steady(load.arrivals) or bool(down)
    return RunBound(
        paths=paths,
        sla_ms_C=np.full(len(load.slas_ms), np.inf) if splits else np.array(load.slas_ms, dtype=np.float64),
        prices_D=_pilot_prices(plan, tables, paths, warmup) if paths.uncertain_D.any() else None,
        down=down,
        kept=[] if changes and not splits and load.queries <= _MOST_KEPT else None,
    )


def cheapest_paths(paths: PathArrays, rule: Rule, events: EventPlan | None) -> PathArrays:
    """The paths, at the least device time that a query's samples can take under the rule."""
    full, _ = batching_of(rule)
    if rule.kind == SPLIT:
        return paths._replace(service_ms_SP=best_per_sample(paths.service_ms_SP, 1, splits=True))
    if events is None or not full:
        return paths
    service_ms_SP = np.ascontiguousarray(events.service_ms_SX[:, : len(paths.device_P)])
    best_ms_SP = best_per_sample(service_ms_SP, full, splits=False)
    return paths._replace(service_ms_SP=np.ascontiguousarray(best_ms_SP[: len(paths.service_ms_SP)]))


def _counted_rows(run: Run, paths: PathArrays, sla_ms_C: Floats) -> FluidRows:
    """What was counted, by class and size; paths that take longer than the class's SLA are closed.

    Only for service times that do not scatter.
    """
    class_R, size_R = np.nonzero(run.totals.queries_CS)
    service_ms_RP = paths.service_ms_SP[size_R]
    return FluidRows(
        weight_R=run.totals.queries_CS[class_R, size_R].astype(np.float64),
        worth_RP=np.outer(size_R.astype(np.float64), paths.accuracy_P),
        service_ms_RP=np.where(service_ms_RP > sla_ms_C[class_R, np.newaxis], np.inf, service_ms_RP),
        paths=paths,
    )


def _pilot_prices(plan: Plan, tables: PathTables, paths: PathArrays, warmup: int) -> Floats:
    """Prices of device time, from the run's first queries; any prices give a valid bound."""
    load = plan.workload
    pilot, counted = min(load.queries, _PILOT_QUERIES), load.queries - warmup
    chunk = empty_chunk(pilot, len(tables.spreads))
    WorkloadStream(load, tables.spreads, plan.seed).fill(chunk, pilot)
    first, sla_ms = warmup if pilot == load.queries else 0, max(load.slas_ms)
    gaps = float(chunk.gap_N[first + 1 : pilot].sum())
    window_ms = gaps * MS_PER_S / load.qps + sla_ms * (pilot - first) / counted
    rows = collect_rows(chunk, first, pilot, paths)
    return best_prices(rows, sla_ms, window_ms * paths.servers_D.astype(np.float64))


def _part(chunk: Chunk, first: int, last: int) -> Chunk:
    columns = {name: getattr(chunk, name)[..., first:last].copy() for name in _READ}
    return chunk._replace(**columns)


def _joined(parts: list[Chunk]) -> Chunk:
    columns = {name: np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in _READ}
    return parts[0]._replace(**columns)


# What the bound reads of a chunk.
_READ = ("size_N", "class_N", "factor_KN", "arrival_ms_N")
