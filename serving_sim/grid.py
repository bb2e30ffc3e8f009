"""Many what-ifs at once: plans that differ in load, SLA, devices, caches or prices, under one stream of queries.

Plans that share paths, arrivals, sizes and the structure of their rule are served together, by a kernel whose outer
loop runs over queries and whose inner loops run over plans. Percentiles are then read off a log histogram, within
0.4 %; queues are kept in float32, which may tip a close choice of a path: figures differ from a run alone by less than
those of two seeds do. Plans that this kernel cannot serve (a policy that routes while service times scatter or that has
its own kind of rule, several classes of queries, a rate that changes over time) run one at a time under queries that
are drawn once, on all cores or on Ray; they come to exactly what `simulate` says. Results do not depend on the number
of threads or processes.
"""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import starmap
from multiprocessing import get_context
from typing import Any

from profiles.units import SECONDS_PER_HOUR
from serving_sim.class_metrics import ClassResult, or_none
from serving_sim.engine import SimulationOptions, start_simulation
from serving_sim.error_bars import ErrorBar, with_table_ends
from serving_sim.grid_groups import Lane, collect_groups
from serving_sim.grid_lanes import LaneFigures, serve_lanes
from serving_sim.metrics import SimulationResult
from serving_sim.plan import Plan
from serving_sim.policies import Policy, PolicyLike, as_policy
from serving_sim.shared_queries import SharedQueries
from serving_sim.table_errors import table_ends
from serving_sim.verdict import Verdict

__all__ = ["GridCell", "simulate_grid"]

# Queries in all from which processes are worth starting for plans that run one at a time.
_QUERIES_FOR_PROCESSES = 2_000_000
# How many of these plans one task takes at most.
_TOGETHER = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class GridCell:
    """What one plan came to; `together` where it was served with others. Costs are of the devices' hourly prices.

    Latencies are NaN where no query was served. With `classes`, `sla_ms` is the loosest of theirs.
    """

    qps: float
    sla_ms: float
    verdict: Verdict
    holds_sla: bool | None
    latency_ms: dict[str, float]
    sla_violation_share: float
    correct_predictions_per_s: float
    correct_predictions_in_sla_per_s: float
    accuracy: float
    path_share: dict[str, float]
    device_utilisation: dict[str, float]
    cost_per_hour: float | None
    cost_per_million_correct: float | None
    together: bool
    classes: tuple[ClassResult, ...] = ()
    error_bars: dict[str, ErrorBar] = field(default_factory=dict)
    """Of each percentile and of `sla_violation_share`, where they were asked for."""

    @property
    def p99_over_sla(self) -> float:
        """The 99th percentile over the SLA, of the class where that is most; NaN where nothing was served."""
        parts = [(one.latency_ms["p99"], one.sla_ms) for one in self.classes] or [(self.latency_ms["p99"], self.sla_ms)]
        return max((p99_ms / sla_ms for p99_ms, sla_ms in parts if math.isfinite(p99_ms)), default=math.nan)

    def to_object(self) -> dict[str, Any]:
        """The JSON object of a cell in `recplan whatif`; latencies of none are null."""
        return {
            **asdict(self),
            "latency_ms": {name: or_none(value) for name, value in self.latency_ms.items()},
            "classes": [one.to_object() for one in self.classes],
        }


def simulate_grid(
    plans: Sequence[Plan],
    *,
    policy: PolicyLike | None = None,
    workers: int | None = None,
    ray: str | None = None,
    intervals: bool = False,
) -> tuple[GridCell, ...]:
    """Simulate every plan, with `policy` in place of its own where given; cells are in the order of the plans.

    `workers` threads or processes (all cores by default); with `ray`, the address of a cluster, plans that run one at a
    time run there. `intervals` asks for error bars; those of tables take two runs more of every plan that has some.

    Raises:
        InputError: as `simulate` does.
    """
    workers = workers or os.cpu_count() or 1
    cells = _simulate_all(plans, policy, workers, ray, intervals=intervals)
    return _with_table_ends(plans, cells, policy, workers, ray) if intervals else cells


def _simulate_all(
    plans: Sequence[Plan], policy: PolicyLike | None, workers: int, ray: str | None, *, intervals: bool
) -> tuple[GridCell, ...]:
    groups, alone = collect_groups(plans, policy)
    cells: dict[int, GridCell] = {}
    blocks = [(group, lanes) for group in groups for lanes in group.blocks()]
    with ThreadPoolExecutor(workers) as threads:
        for (_, lanes), figures in zip(
            blocks, threads.map(lambda one: serve_lanes(*one, intervals=intervals), blocks), strict=True
        ):
            for lane, found in zip(lanes, figures, strict=True):
                for place in lane.places:
                    cells[place] = _cell_of_lane(plans[place], lane, found)
    for place, result in zip(alone, _one_at_a_time([plans[i] for i in alone], policy, workers, ray), strict=True):
        cells[place] = _cell_of_result(plans[place], result, intervals=intervals)
    return tuple(cells[place] for place in range(len(plans)))


def _with_table_ends(
    plans: Sequence[Plan], cells: Sequence[GridCell], policy: PolicyLike | None, workers: int, ray: str | None
) -> tuple[GridCell, ...]:
    """The cells with what the tables' error bars make of their figures."""
    # Plans of the same paths share the moved ones too, so that they are served together again.
    paths_at: dict[int, tuple[Plan, Plan] | None] = {}
    slow, fast, places = [], [], []
    for place, plan in enumerate(plans):
        if id(plan.paths) not in paths_at:
            paths_at[id(plan.paths)] = table_ends(plan)
        if (ends := paths_at[id(plan.paths)]) is not None:
            slow.append(replace(plan, paths=ends[0].paths))
            fast.append(replace(plan, paths=ends[1].paths))
            places.append(place)
    moved = _simulate_all([*slow, *fast], policy, workers, ray, intervals=False)
    found = list(cells)
    for place, at_slow, at_fast in zip(places, moved[: len(slow)], moved[len(slow) :], strict=True):
        found[place] = replace(cells[place], error_bars=with_table_ends(cells[place], (at_slow, at_fast)))
    return tuple(found)


def _one_at_a_time(
    plans: Sequence[Plan], policy: PolicyLike | None, workers: int, ray: str | None
) -> list[SimulationResult]:
    """Plans of the same paths, devices and queries go together, as they share tables and draws."""
    first_of: dict[object, int] = {}
    for place, plan in enumerate(plans):
        first_of.setdefault(_structure(plan), place)
    order = sorted(range(len(plans)), key=lambda place: first_of[_structure(plans[place])])
    size = max(1, min(_TOGETHER, -(-len(plans) // workers)))
    parts = [[plans[place] for place in order[start : start + size]] for start in range(0, len(plans), size)]
    tasks = [(part, policy) for part in parts]
    if ray is not None and tasks:
        from serving_sim.grid_ray import simulate_on_ray

        found = simulate_on_ray(_simulate_alone, tasks, ray)
    elif min(workers, len(tasks)) > 1 and sum(plan.workload.queries for plan in plans) >= _QUERIES_FOR_PROCESSES:
        # Compiled once, here, where a command can say so; each process would do it again.
        for part, _ in tasks:
            start_simulation(part[0], policy=policy, options=SimulationOptions(fluid_bound=False))
        with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=get_context("spawn")) as processes:
            found = list(processes.map(_simulate_alone, *zip(*tasks, strict=True)))
    else:
        found = list(starmap(_simulate_alone, tasks))
    by_place = dict(zip(order, (result for results in found for result in results), strict=True))
    return [by_place[place] for place in range(len(plans))]


def _structure(plan: Plan) -> object:
    """Plans that differ in load alone share the very tuples of paths and devices."""
    return id(plan.paths), id(plan.devices), id(plan.caches), plan.workload.sizes, plan.seed


def _simulate_alone(plans: Sequence[Plan], policy: PolicyLike | None) -> list[SimulationResult]:
    """Each plan by itself, under queries that are drawn once where they are the same."""
    shared, options = SharedQueries(), SimulationOptions(fluid_bound=False)
    # Plans with other loads share the very choice of a policy, which takes longer to read than to compile.
    routers: dict[int, Policy] = {}
    results = []
    for plan in plans:
        choice = plan.policy if policy is None else policy
        if id(choice) not in routers:
            routers[id(choice)] = as_policy(choice)
        simulation = start_simulation(plan, policy=routers[id(choice)], options=options, shared=shared)
        simulation.advance(plan.workload.queries)
        results.append(simulation.result())
    return results


def _cell_of_lane(plan: Plan, lane: Lane, found: LaneFigures) -> GridCell:
    return GridCell(
        qps=lane.qps,
        sla_ms=lane.sla_ms,
        verdict=found.verdict,
        holds_sla=found.holds(plan.workload.percentile),
        latency_ms=dict(found.latency_ms),
        sla_violation_share=found.late / found.counted,
        correct_predictions_per_s=found.correct / found.duration_s,
        correct_predictions_in_sla_per_s=found.in_sla / found.duration_s,
        accuracy=found.correct / found.samples,
        path_share=dict(zip((path.name for path in plan.paths), found.path_share, strict=True)),
        device_utilisation=dict(zip((device.name for device in plan.devices), found.utilisation, strict=True)),
        cost_per_hour=_price(plan),
        cost_per_million_correct=_per_million(plan, found.in_sla / found.duration_s),
        together=True,
        error_bars=found.error_bars,
    )


def _cell_of_result(plan: Plan, result: SimulationResult, *, intervals: bool) -> GridCell:
    return GridCell(
        qps=result.qps,
        sla_ms=result.sla_ms,
        verdict=result.verdict,
        holds_sla=result.holds_sla,
        latency_ms=result.latency_ms,
        sla_violation_share=result.sla_violation_share,
        correct_predictions_per_s=result.correct_predictions_per_s,
        correct_predictions_in_sla_per_s=result.correct_predictions_in_sla_per_s,
        accuracy=result.accuracy,
        path_share=result.path_share,
        device_utilisation=result.device_utilisation,
        cost_per_hour=_price(plan),
        cost_per_million_correct=_per_million(plan, result.correct_predictions_in_sla_per_s),
        together=False,
        classes=result.classes,
        error_bars=result.error_bars if intervals else {},
    )


def _price(plan: Plan) -> float | None:
    """Of all servers' devices; unknown where one's price is."""
    prices = [device.price_per_hour for device in plan.devices if device.price_per_hour is not None]
    return sum(prices) if len(prices) == len(plan.devices) else None


def _per_million(plan: Plan, in_sla_per_s: float) -> float | None:
    price = _price(plan)
    return None if price is None or not in_sla_per_s else price / SECONDS_PER_HOUR / in_sla_per_s * 1e6
