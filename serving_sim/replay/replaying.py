"""Replay a plan: find what this machine serves of it, load it, and hold the simulator against what happens."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from profiles.errors import InputError
from profiles.units import MS_PER_S
from serving_sim.fluid_bound import collect_rows, upper_bound_qps
from serving_sim.paths import compile_paths
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike, as_policy, policy_label
from serving_sim.replay.comparison import RunComparison, compare_run
from serving_sim.replay.live import LiveOptions, LiveTrace, serve_live
from serving_sim.replay.queries import draw_queries
from serving_sim.replay.ray_serve import require_ray_serve, serve_on_ray
from serving_sim.replay.servable import servable_part
from serving_sim.workload import WorkloadStream, empty_chunk

__all__ = ["Replay", "ReplayOptions", "measure_capacity", "replay_plan", "replay_run"]

Tell = Callable[[str], None]

# A backlog is served at this many times what the plan's tables allow, so that no server ever waits.
_OVERLOAD = 4.0
_CAPACITY_S = 2.0
# A backlog is there to be late.
_BACKLOG_LIMIT_S = 120.0
_FEWEST_QUERIES, _BOUND_QUERIES = 200, 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayOptions:
    """`loads` are shares of the measured capacity; without any, the plan's rate is served, for `seconds` each.

    Segments, which calibrate and are judged by turns, last `segment_s`, or a quarter of the run where that is less.
    `on_serve`: through Ray Serve, a deployment for each device.
    """

    loads: tuple[float, ...] = ()
    seconds: float = 24.0
    segment_s: float = 0.5
    live: LiveOptions = field(default_factory=LiveOptions)
    on_serve: bool = False

    def __post_init__(self) -> None:
        if any(not (load > 0 and math.isfinite(load)) for load in self.loads):
            raise InputError(f"load: must be finite and > 0, but got {list(self.loads)}")
        for name in ("seconds", "segment_s"):
            if not (getattr(self, name) > 0 and math.isfinite(getattr(self, name))):
                raise InputError(f"{name}: must be finite and > 0, but got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """The runs of a replay, the capacity that loads are shares of, and which paths were left out, and why."""

    plan: str
    policy: str
    sla_ms: float
    capacity_qps: float | None
    runs: tuple[RunComparison, ...]
    skipped: tuple[str, ...]

    def to_object(self) -> dict[str, Any]:
        """The JSON object of `recplan replay`; figures at the top are those of the first run."""
        first = self.runs[0].to_object()
        return {
            "plan": self.plan,
            "policy": self.policy,
            "sla_ms": self.sla_ms,
            "capacity_qps": self.capacity_qps,
            **{key: first[key] for key in ("measured", "simulated", "error", "paths")},
            "runs": [run.to_object() for run in self.runs],
            "skipped": list(self.skipped),
        }


def replay_plan(
    plan: Plan,
    *,
    policy: PolicyLike | None = None,
    options: ReplayOptions | None = None,
    tell: Tell = lambda _: None,
    ended: Callable[[RunComparison], None] = lambda _: None,
) -> Replay:
    """Serve what this machine can of the plan, at each load, and simulate the same queries.

    `tell` gets a statement of what comes next, `ended` each run once it has ended.

    Raises:
        InputError: no path can be served here, the policy cannot be followed, or Ray Serve is wanted and not there.
        MeasurementError: a process failed, was killed, or was not done in time.
    """
    options = options or ReplayOptions()
    if options.on_serve:
        require_ray_serve()
    part = servable_part(plan, policy)
    for statement in part.skipped:
        tell(statement)
    if options.loads:
        tell("finding how much this machine serves of a backlog")
    capacity_qps = measure_capacity(part.plan, policy, options) if options.loads else None
    if capacity_qps is not None:
        tell(f"this machine serves {capacity_qps:,.0f} queries/s of this load at most")
    rates: list[tuple[float | None, float]] = [(None, plan.workload.qps)]
    if capacity_qps is not None:
        rates = [(load, load * capacity_qps) for load in options.loads]
    runs = []
    for load, qps in rates:
        seconds = _queries_at(qps, options.seconds) / qps
        tell(f"serving {qps:,.0f} queries/s for {seconds:,.3g} s" + ("" if load is None else f", load {load:g}"))
        runs.append(replay_run(part.plan.at(qps=qps), policy, options, load=load))
        ended(runs[-1])
    return Replay(
        plan=plan.name,
        policy=policy_label(as_policy(plan.policy if policy is None else policy)),
        sla_ms=max(plan.workload.slas_ms),
        capacity_qps=capacity_qps,
        runs=tuple(runs),
        skipped=part.skipped,
    )


def measure_capacity(plan: Plan, policy: PolicyLike | None = None, options: ReplayOptions | None = None) -> float:
    """Queries per second that this machine serves of a backlog of about 2 s, under the policy.

    Raises:
        InputError: the policy refused every query.
        MeasurementError: a process failed, was killed, or was not done in time.
    """
    options, bound_qps = options or ReplayOptions(), _tabled_bound_qps(plan)
    live = replace(options.live, drain_limit_s=max(options.live.drain_limit_s, _BACKLOG_LIMIT_S))
    count = max(_FEWEST_QUERIES, math.ceil(bound_qps * _CAPACITY_S))
    return _served_qps(_serve(plan.at(qps=_OVERLOAD * bound_qps), count, policy, replace(options, live=live)))


def replay_run(
    plan: Plan, policy: PolicyLike | None, options: ReplayOptions, *, load: float | None = None
) -> RunComparison:
    """Serve a plan of which every path can be served here at its rate, and simulate the same queries.

    Raises:
        MeasurementError: a process failed, was killed, or was not done in time.
    """
    trace = _serve(plan, _queries_at(plan.workload.qps, options.seconds), policy, options)
    span_s = float(trace.queries.arrival_ms_N[-1]) / MS_PER_S
    return compare_run(plan, policy, trace, segment_s=min(options.segment_s, span_s / 4), load=load)


def _queries_at(qps: float, seconds: float) -> int:
    return max(_FEWEST_QUERIES, math.ceil(qps * seconds))


def _serve(plan: Plan, count: int, policy: PolicyLike | None, options: ReplayOptions) -> LiveTrace:
    serve = serve_on_ray if options.on_serve else serve_live
    loaded = plan.at(queries=count)
    return serve(loaded, draw_queries(loaded, count), policy=policy, options=options.live)


def _served_qps(trace: LiveTrace) -> float:
    served = int(np.isfinite(trace.finish_ms_N).sum())
    if not served:
        raise InputError("policy: refused every query of a backlog, so that there is no capacity; another: --policy")
    return served * MS_PER_S / float(np.nanmax(trace.finish_ms_N) - np.nanmin(trace.start_ms_N))


def _tabled_bound_qps(plan: Plan) -> float:
    """What the plan's tables say that the devices could serve."""
    tables = compile_paths(plan)
    chunk = empty_chunk(_BOUND_QUERIES, len(tables.spreads))
    WorkloadStream(plan.workload, tables.spreads, plan.seed, timed=False).fill(chunk, _BOUND_QUERIES)
    return upper_bound_qps(collect_rows(chunk, 0, _BOUND_QUERIES, tables.arrays))
