"""A slow and obvious simulator to hold the compiled one against, and small random plans to do it on."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

from serving_sim.paths import service_ms
from serving_sim.plan import Arrivals, Device, LatencyTable, Path, Plan, PolicyChoice, Sizes, Workload
from serving_sim.sizes import mean_size

POLICIES = (
    PolicyChoice(name="static"),
    PolicyChoice(name="table-switch"),
    PolicyChoice(name="mp-rec"),
    PolicyChoice(name="mp-rec", options={"share": 0.1}),
    PolicyChoice(name="mp-rec", options={"predicate": "finish-in-sla"}),
)


@dataclass(kw_only=True)
class Served:
    """What became of one query."""

    path: int
    arrival_ms: float
    service_ms: float
    start_ms: float = np.nan


@dataclass(kw_only=True)
class _Taken:
    start: float
    mean: float
    server: int


def serve(plan: Plan, gaps: Sequence[float], sizes: Sequence[int], factors: Sequence[Sequence[float]]) -> list[Served]:
    """Serve drawn queries one by one; `factors` holds, per query, each path's service factor."""
    tables = [service_ms(path.latency, np.arange(1, plan.workload.sizes.maximum + 1)) for path in plan.paths]
    free = [[0.0] * device.servers for device in plan.devices]
    now, served, taken_by = 0.0, list[Served](), [list[_Taken]() for _ in plan.devices]
    for gap, size, factor in zip(gaps, sizes, factors, strict=True):
        now += gap * (1e3 / plan.workload.qps)
        means = [float(table[size - 1]) for table in tables]
        waits = [_expected_wait(plan, device, now, free[device], taken_by[device]) for device in range(len(free))]
        waits = [waits[plan.device_of(path)] for path in plan.paths]
        chosen = _choose(plan, size, waits, means)
        taken = means[chosen] * factor[chosen]
        servers = free[plan.device_of(plan.paths[chosen])]
        place = servers.index(min(servers))
        start = max(servers[place], now)
        taken_by[plan.device_of(plan.paths[chosen])].append(_Taken(start=start, mean=means[chosen], server=place))
        servers[place] = max(servers[place], now) + taken
        served.append(Served(path=chosen, arrival_ms=now, service_ms=taken))
    for device in range(len(plan.devices)):
        _run_queue(
            [query for query in served if plan.device_of(plan.paths[query.path]) == device], plan.devices[device]
        )
    return served


def _expected_wait(plan: Plan, device: int, now: float, free: list[float], taken: list[_Taken]) -> float:
    """What can be known of the wait without the service times of queries that are not done."""
    name, count = plan.devices[device].name, len(free)
    if min(free) <= now:
        return 0.0
    if not any(path.device == name and path.latency.spread != "none" for path in plan.paths):
        return min(free) - now
    under_way = [[query for query in taken if query.server == i and query.start <= now][-1] for i in range(count)]
    left = [max(query.start + query.mean - now, 0.0) for query in under_way]
    work = sum(left) + sum(query.mean for query in taken if query.start > now)
    service = sum(query.mean for query in under_way) / count
    return max(min(left), work / count - service * (count - 1) / (2 * count))


def _run_queue(queries: list[Served], device: Device) -> None:
    """First come first served by events: a server that frees takes the oldest query that waits."""
    idle, busy = device.servers, list[float]()
    for query in queries:
        while busy and busy[0] <= query.arrival_ms:
            heapq.heappop(busy)
            idle += 1
        query.start_ms = query.arrival_ms
        if idle == 0:
            query.start_ms = heapq.heappop(busy)
            idle += 1
        idle -= 1
        heapq.heappush(busy, query.start_ms + query.service_ms)


def _choose(plan: Plan, size: int, waits: list[float], means: list[float]) -> int:
    everywhere = range(len(plan.paths))
    tables = [path for path in everywhere if plan.paths[path].representation == "table"] or list(everywhere)

    def done(path: int) -> float:
        return waits[path] + means[path]

    def passes(path: int) -> bool:
        servers = plan.devices[plan.device_of(plan.paths[path])].servers
        offered = plan.workload.qps * mean_size(plan.workload.sizes) / 1e3 * float(options.get("share", 1.0))
        sustains = size >= offered / servers * means[path]
        return done(path) <= plan.workload.sla_ms and (options.get("predicate") == "finish-in-sla" or sustains)

    options: dict[str, Any] = plan.policy.options
    if plan.policy.name == "static":
        return 0
    if plan.policy.name == "mp-rec":
        for accuracy in sorted({path.accuracy for path in plan.paths}, reverse=True):
            passing = [path for path in everywhere if plan.paths[path].accuracy == accuracy and passes(path)]
            if passing:
                return min(passing, key=done)
    return min(tables, key=done)


@st.composite
def latency_tables(draw: st.DrawFn) -> LatencyTable:
    sizes = sorted(draw(st.sets(st.integers(1, 60), min_size=1, max_size=4)))
    times = sorted(draw(st.lists(st.floats(0.05, 20.0), min_size=len(sizes), max_size=len(sizes))))
    spread: Literal["none", "lognormal", "exponential"] = draw(st.sampled_from(["none", "lognormal", "exponential"]))
    sigma = draw(st.floats(0.1, 1.0)) if spread == "lognormal" else 0.0
    return LatencyTable(sizes=tuple(sizes), mean_ms=tuple(times), spread=spread, sigma=sigma)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    devices = [Device(name=f"d{i}", servers=draw(st.integers(1, 3))) for i in range(draw(st.integers(1, 3)))]
    paths = [
        Path(
            name=f"p{i}",
            representation=draw(st.sampled_from(["table", "dhe", "hybrid"])),
            device=draw(st.sampled_from(devices)).name,
            accuracy=draw(st.sampled_from([0.5, 0.7, 0.7898])),
            latency=draw(latency_tables()),
        )
        for i in range(draw(st.integers(1, 4)))
    ]
    return Plan(
        name="random",
        devices=tuple(devices),
        paths=tuple(paths),
        workload=Workload(
            qps=draw(st.floats(10, 5000)),
            sla_ms=draw(st.floats(0.05, 50)),
            queries=draw(st.integers(1, 250)),
            arrivals=draw(st.sampled_from([Arrivals(), Arrivals(process="gamma", cv=2.5)])),
            sizes=Sizes(mean=draw(st.floats(1, 40)), sigma=draw(st.floats(0, 2)), maximum=64),
        ),
        policy=draw(st.sampled_from(POLICIES)),
        seed=draw(st.integers(0, 2**32)),
    )
