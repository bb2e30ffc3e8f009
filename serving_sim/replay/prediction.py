"""What the simulator makes of a replay's queries: with the service times that were seen, or from a calibration.

Dispatch is a delay, not work: a busy period as a whole begins so much later, so every latency has it once, and service
times do not.

Shape suffixes: N queries, P paths, D devices, R repetitions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels import CORRELATION, PathArrays, Rule
from serving_sim.paths import compile_paths, conditions_of, service_ms
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike, as_policy, fixed_rule, routing_context
from serving_sim.replay.calibration import Calibration
from serving_sim.replay.live import LiveTrace
from serving_sim.replay.observed import device_times
from serving_sim.replay.queries import Queries
from serving_sim.run import start_run
from serving_sim.workload import WorkloadStream, empty_chunk

__all__ = ["Outcome", "predict", "predict_as_planned", "queue_logic"]

Floats = NDArray[np.float64]

# Residuals are redrawn in blocks of queries that came one after the other.
_BLOCK = 100


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Outcome:
    """Latency and path of each query in a simulation; a refused one has path -1 and no latency (NaN)."""

    latency_ms_N: Floats
    path_N: NDArray[np.int64]


def queue_logic(plan: Plan, trace: LiveTrace) -> Outcome:
    """The trace's queries on the paths that they took, with the service times that they had.

    Added to these is the median handover of their device, to latencies the median dispatch: medians of two states, and
    nothing of any single query but its service time, so that queueing is the simulator's own.
    """
    latency_ms_N = np.full(len(trace.queries), np.nan)
    for device, one in enumerate(plan.devices):
        times = device_times(plan, trace, device)
        if not len(times.query_N):
            continue
        path = next(path for path in plan.paths if path.device == one.name)
        alone = replace(plan, devices=(one,), paths=(path,))
        own = _taken(trace.queries, times.query_N)
        service_ms_N = trace.service_ms_N[times.query_N] + np.where(times.waited_N, times.handover_ms, 0.0)
        arrays = _plain(compile_paths(alone).arrays)
        found = _serve(alone, fixed_rule(0), own, service_ms_N[np.newaxis], arrays)
        latency_ms_N[times.query_N] = found.latency_ms_N + times.dispatch_ms
    return Outcome(latency_ms_N=latency_ms_N, path_N=trace.path_N)


def predict(
    plan: Plan, policy: PolicyLike | None, queries: Queries, calibration: Calibration, *, repetitions: int, seed: int
) -> Iterator[Outcome]:
    """Simulations of the queries with calibrated service times, each with residuals redrawn in blocks.

    The policy decides by the plan's own tables, as the live router does.
    """
    rng = np.random.default_rng(seed)
    arrays = _plain(compile_paths(plan).arrays)._replace(conditions_PF=_idle_conditions(calibration.plan))
    rule = as_policy(plan.policy if policy is None else policy).compile(routing_context(plan))
    mean_ms_PN = np.stack([service_ms(path.latency, queries.size_N) for path in calibration.plan.paths])
    dispatch_ms_P = np.array(calibration.dispatch_ms_D)[arrays.device_P]
    for _ in range(repetitions):
        residual_DN = np.stack([_blocks(one, len(queries), rng) for one in calibration.residual_D])
        found = _serve(plan, rule, queries, mean_ms_PN * residual_DN[arrays.device_P], arrays)
        dispatch_ms_N = np.where(found.path_N >= 0, dispatch_ms_P[found.path_N], np.nan)
        yield Outcome(latency_ms_N=found.latency_ms_N + dispatch_ms_N, path_N=found.path_N)


def predict_as_planned(plan: Plan, policy: PolicyLike | None, queries: Queries) -> Outcome:
    """The queries by the plan's own tables and scatter, as `recplan simulate` would serve them."""
    tables = compile_paths(plan)
    rule = as_policy(plan.policy if policy is None else policy).compile(routing_context(plan))
    chunk = empty_chunk(len(queries), len(tables.spreads))
    WorkloadStream(plan.workload, tables.spreads, plan.seed).fill(chunk, len(queries))
    run = start_run(tables.arrays, rule, qps=plan.workload.qps, sla_ms=plan.workload.slas_ms)
    run.serve(chunk, len(queries))
    latency_ms_N = chunk.start_ms_N - chunk.arrival_ms_N + chunk.service_ms_N
    return Outcome(latency_ms_N=np.where(chunk.path_N >= 0, latency_ms_N, np.nan), path_N=chunk.path_N)


def _serve(plan: Plan, rule: Rule, queries: Queries, service_ms_PN: Floats, arrays: PathArrays) -> Outcome:
    """Serve queries whose service time on each path is known to us, and only its mean in the plan to the policy."""
    count = len(queries)
    run = start_run(arrays, rule, qps=plan.workload.qps, sla_ms=plan.workload.slas_ms)
    chunk = empty_chunk(count, len(service_ms_PN))
    chunk.gap_N[:] = np.diff(queries.arrival_ms_N, prepend=0.0) / run.gap_ms
    chunk.size_N[:], chunk.class_N[:] = queries.size_N, queries.class_N
    chunk.factor_KN[:] = service_ms_PN / arrays.service_ms_SP[queries.size_N].T
    run.serve(chunk, count)
    latency_ms_N = chunk.start_ms_N - chunk.arrival_ms_N + chunk.service_ms_N
    return Outcome(latency_ms_N=np.where(chunk.path_N >= 0, latency_ms_N, np.nan), path_N=chunk.path_N)


def _plain(arrays: PathArrays) -> PathArrays:
    """Every path with factors of its own, every device uncertain to the router, and nothing else."""
    return arrays._replace(
        spread_P=np.arange(len(arrays.device_P)),
        uncertain_D=np.ones_like(arrays.uncertain_D),
        conditions_PF=conditions_of(()),
    )


def _idle_conditions(plan: Plan) -> Floats:
    """The idle gap of each path. Correlation is in the residuals already."""
    conditions_PF = conditions_of([path.latency for path in plan.paths])
    conditions_PF[:, CORRELATION] = 0.0
    return conditions_PF


def _blocks(residual_N: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Residuals for `count` queries, in blocks from anywhere; no scatter where none was seen."""
    known = len(residual_N)
    if not known:
        return np.ones(count)
    starts = rng.integers(0, known, -(-count // _BLOCK))
    places = (starts[:, np.newaxis] + np.arange(_BLOCK)) % known
    drawn: Floats = residual_N[places.ravel()[:count]]
    return drawn


def _taken(queries: Queries, query_N: NDArray[np.int64]) -> Queries:
    return Queries(
        arrival_ms_N=queries.arrival_ms_N[query_N],
        size_N=queries.size_N[query_N],
        class_N=np.zeros(len(query_N), dtype=np.int64),
    )
