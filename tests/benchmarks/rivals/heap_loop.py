"""The serving scenario as an event loop by hand: a heap of finishes, a queue per device, no framework."""

import heapq
from collections import deque

from tests.benchmarks.rivals.routing import Scenario, choose

__all__ = ["serve"]


def serve(scenario: Scenario) -> list[float]:
    """The latency (ms) of each query."""
    arrivals_ms, sizes, factors, service_ms = (
        scenario.arrivals_ms,
        scenario.sizes,
        scenario.factors,
        scenario.service_ms,
    )
    free_at_ms = [0.0] * scenario.devices
    waiting: list[deque[tuple[int, float]]] = [deque() for _ in range(scenario.devices)]
    busy = [False] * scenario.devices
    finishes: list[tuple[float, int]] = []
    latencies_ms = [0.0] * len(sizes)
    for query, now_ms in enumerate(arrivals_ms):
        while finishes and finishes[0][0] <= now_ms:
            _finish(finishes, waiting, busy, arrivals_ms, latencies_ms)
        size = sizes[query]
        path, device = choose(scenario.entries, size, now_ms, free_at_ms, service_ms[size])
        taken_ms = service_ms[size][path] * factors[query]
        free_at_ms[device] = max(now_ms, free_at_ms[device]) + taken_ms
        if busy[device]:
            waiting[device].append((query, taken_ms))
        else:
            busy[device] = True
            latencies_ms[query] = taken_ms
            heapq.heappush(finishes, (now_ms + taken_ms, device))
    while finishes:
        _finish(finishes, waiting, busy, arrivals_ms, latencies_ms)
    return latencies_ms


def _finish(
    finishes: list[tuple[float, int]],
    waiting: list[deque[tuple[int, float]]],
    busy: list[bool],
    arrivals_ms: list[float],
    latencies_ms: list[float],
) -> None:
    """One device is done, and takes the query that has waited longest."""
    finish_ms, device = heapq.heappop(finishes)
    if not waiting[device]:
        busy[device] = False
        return
    query, taken_ms = waiting[device].popleft()
    latencies_ms[query] = finish_ms - arrivals_ms[query] + taken_ms
    heapq.heappush(finishes, (finish_ms + taken_ms, device))
