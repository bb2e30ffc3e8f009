"""The simulator against queueing theory, and against the laws that every queue keeps.

Mean waits of M/M/c, M/D/1 and M/G/1 stand beside their formulas. A row is right within 0.5 %, or within three standard
errors where so few queries cannot tell 0.5 % (two standard errors are more than that). For one server the standard
error is the asymptotic variance of the mean wait over the queries, for several that of 32 batch means.

Further rows need no theory: Little's law, the number in the system counted from arrivals and finishes beside rate x
latency; and that work is conserved: a server that idles while a query waits, and busy time beside the service times.
"""

import heapq
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from statistics import stdev
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from profiles.units import MS_PER_S
from serving_sim import kernels
from serving_sim.engine import QueryTrace, SimulationOptions, simulate, start_simulation, trace_run
from serving_sim.plan import Device, LatencyTable, Path, Plan, PolicyChoice, Sizes, Workload
from serving_sim.theory import (
    exponential_moments,
    lognormal_moments,
    mg1_asymptotic_variance,
    mg1_mean_wait,
    mmc_mean_wait,
)

__all__ = ["QUEUES", "Check", "Queue", "check_laws", "check_plan", "check_wait", "queue_plan", "self_check"]

_LOADS = (0.5, 0.8, 0.95)
_TOLERANCE = 0.005
_BATCHES = 32
_TRACED = 200_000
# What rounding may leave between figures that should be equal.
_ROUNDING_SHARE, _ROUNDING_MS = 1e-6, 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class Queue:
    """A queue with a formula, of a mean service of 1 ms."""

    name: str
    servers: int = 1
    spread: Literal["none", "lognormal", "exponential"] = "exponential"
    sigma: float = 0.0

    def mean_wait_ms(self, load: float) -> float:
        """What theory says."""
        if self.spread == "exponential":
            return mmc_mean_wait(load * self.servers, 1.0, self.servers)
        return mg1_mean_wait(load, 1.0, math.sqrt(math.expm1(self.sigma**2)))

    def asymptotic_variance(self, load: float) -> float | None:
        """That of the mean wait, times the queries; None for several servers."""
        if self.servers > 1:
            return None
        moments = exponential_moments(1.0) if self.spread == "exponential" else lognormal_moments(1.0, self.sigma)
        return mg1_asymptotic_variance(load, moments)


QUEUES = (
    Queue(name="M/M/1"),
    Queue(name="M/M/2", servers=2),
    Queue(name="M/M/8", servers=8),
    Queue(name="M/D/1", spread="none"),
    Queue(name="M/G/1", spread="lognormal", sigma=0.5),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One figure of a run beside what it should be; `allowed` is how far off it may be, in the figure's unit."""

    subject: str
    figure: str
    queries: int
    expected: float
    simulated: float
    allowed: float
    standard_error: float | None = None

    @property
    def passed(self) -> bool:
        """Whether it is close enough."""
        return abs(self.simulated - self.expected) <= self.allowed

    def to_object(self) -> dict[str, Any]:
        """The JSON object of a row in `recplan simulate --self-check`."""
        return {**asdict(self), "difference": self.simulated - self.expected, "passed": self.passed}


def self_check(queries: int = 2_000_000, *, plan: Plan | None = None) -> tuple[Check, ...]:
    """Every row: each queue at loads 0.5, 0.8 and 0.95 over so many queries, the laws, and the laws on the plan's run.

    Raises:
        InputError: fewer than 10,000 queries.
    """
    if queries < 10_000:
        raise InputError(f"queries: must be >= 10000 for a self-check, but got {queries}")
    waits = [check_wait(queue, load, queries) for queue, load in product(QUEUES, _LOADS)]
    two = queue_plan(QUEUES[1], 0.8, min(queries, _TRACED))
    return (*waits, *check_laws(two, fifo=True), *(() if plan is None else check_plan(plan)))


def check_wait(queue: Queue, load: float, queries: int, *, seed: int = 0) -> Check:
    """The mean wait over so many queries beside its formula."""
    simulation = start_simulation(
        queue_plan(queue, load, queries, seed=seed), options=SimulationOptions(exact_queries=0, fluid_bound=False)
    )
    ends: list[tuple[int, float]] = []
    served = 0
    for left in range(_BATCHES, 0, -1):
        step = (queries - served) // left
        simulation.advance(step)
        served += step
        totals = simulation.run.totals
        ends.append((int(totals.counts[kernels.COUNTED]), float(totals.sums[kernels.WAIT_MS])))
    counted, waited_ms = ends[-1]
    expected = queue.mean_wait_ms(load)
    variance = queue.asymptotic_variance(load)
    error = _batch_error(ends) if variance is None else math.sqrt(variance / counted)
    return Check(
        subject=f"{queue.name}, load {load:g}",
        figure="mean wait (services)",
        queries=queries,
        expected=expected,
        simulated=waited_ms / counted,
        allowed=_TOLERANCE * expected if 2 * error <= _TOLERANCE * expected else 3 * error,
        standard_error=error,
    )


def check_plan(plan: Plan) -> tuple[Check, ...]:
    """The laws on the plan's own run, under its policy."""
    return check_laws(plan.at(queries=min(plan.workload.queries, _TRACED)))


def check_laws(plan: Plan, *, fifo: bool = False) -> tuple[Check, ...]:
    """Little's law and the conservation of work; with `fifo` also that no query waits while one of its servers idles,
    which holds for policies that serve a query as soon as they can.
    """
    trace = trace_run(plan)
    checks = [_little(plan, trace), *_busy_time(plan, trace)]
    return (*checks, *(_idleness(plan, trace) if fifo else ()))


def queue_plan(queue: Queue, load: float, queries: int, *, seed: int = 0) -> Plan:
    """The queue as a plan: one path with a mean service of 1 ms on one device."""
    table = LatencyTable(sizes=(1,), mean_ms=(1.0,), spread=queue.spread, sigma=queue.sigma)
    return Plan(
        name=queue.name,
        devices=(Device(name="device", servers=queue.servers),),
        paths=(Path(name="path", representation="table", device="device", accuracy=1.0, latency=table),),
        workload=Workload(
            qps=MS_PER_S * load * queue.servers,
            sla_ms=100,
            queries=queries,
            sizes=Sizes(distribution="fixed", mean=1, maximum=1),
        ),
        policy=PolicyChoice(name="static"),
        seed=seed,
    )


def _batch_error(ends: list[tuple[int, float]]) -> float:
    """The standard error of the mean from the means of the batches that ended there."""
    pairs = zip([(0, 0.0), *ends], ends, strict=False)
    means = [(to[1] - start[1]) / (to[0] - start[0]) for start, to in pairs if to[0] > start[0]]
    return stdev(means) / math.sqrt(len(means))


def _little(plan: Plan, trace: QueryTrace) -> Check:
    """The time average of the number in the system, counted, beside rate x latency as the run's result has them."""
    result = simulate(plan, options=SimulationOptions(fluid_bound=False))
    is_counted_N = (np.arange(len(trace.path_N)) >= result.warmup) & (trace.path_N != kernels.REFUSAL)
    came_N, left_N = np.sort(trace.arrival_ms_N[is_counted_N]), np.sort(trace.finish_ms_N[is_counted_N])
    moments_E = np.sort(np.concatenate((came_N, left_N)))
    inside_E = np.searchsorted(came_N, moments_E, side="right") - np.searchsorted(left_N, moments_E, side="right")
    span_ms = float(moments_E[-1] - moments_E[0])
    served = result.counted - result.refused
    expected = served / span_ms * result.mean_latency_ms
    return Check(
        subject=plan.name,
        figure="queries in the system (Little's law)",
        queries=len(trace.path_N),
        expected=expected,
        simulated=float(inside_E[:-1] @ np.diff(moments_E)) / span_ms,
        allowed=_ROUNDING_SHARE * expected,
    )


def _busy_time(plan: Plan, trace: QueryTrace) -> Iterator[Check]:
    """Busy time of each device's servers, as the run's result has it, beside the service times of its queries."""
    utilisation = simulate(plan, options=SimulationOptions(fluid_bound=False)).device_utilisation
    span_ms = float(trace.finish_ms_N.max())
    for place, device in enumerate(plan.devices):
        served_ms = float(trace.service_ms_N[_on_device(plan, trace, place)].sum())
        yield Check(
            subject=f"{plan.name}, {device.name}",
            figure="busy time (ms; work is conserved)",
            queries=len(trace.path_N),
            expected=served_ms,
            simulated=utilisation[device.name] * device.servers * span_ms,
            allowed=_ROUNDING_SHARE * served_ms + _ROUNDING_MS,
        )


def _idleness(plan: Plan, trace: QueryTrace) -> Iterator[Check]:
    """How long, at most, a query waited while a server of its device was free."""
    finish_ms_N = trace.finish_ms_N
    for place, device in enumerate(plan.devices):
        own_N = np.flatnonzero(_on_device(plan, trace, place))
        free_ms = [0.0] * device.servers
        longest_ms = 0.0
        for query in own_N.tolist():
            could_ms = max(float(trace.arrival_ms_N[query]), heapq.heappop(free_ms))
            longest_ms = max(longest_ms, abs(float(trace.start_ms_N[query]) - could_ms))
            heapq.heappush(free_ms, float(finish_ms_N[query]))
        yield Check(
            subject=f"{plan.name}, {device.name}",
            figure="idle while a query waits (ms)",
            queries=len(own_N),
            expected=0.0,
            simulated=longest_ms,
            allowed=_ROUNDING_MS,
        )


def _on_device(plan: Plan, trace: QueryTrace, device: int) -> NDArray[np.bool_]:
    device_P = np.array([plan.device_of(path) for path in plan.paths])
    is_on_N: NDArray[np.bool_] = np.where(trace.path_N == kernels.REFUSAL, -1, device_P[trace.path_N]) == device
    return is_on_N
