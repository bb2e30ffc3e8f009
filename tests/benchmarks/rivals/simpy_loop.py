"""The serving scenario in SimPy: a process of arrivals, a process per query, a resource per device."""

from collections.abc import Generator
from typing import Any

import simpy

from tests.benchmarks.rivals.routing import Scenario, choose

__all__ = ["serve"]


def serve(scenario: Scenario) -> list[float]:
    """The latency (ms) of each query."""
    environment = simpy.Environment()
    devices = [simpy.Resource(environment) for _ in range(scenario.devices)]
    latencies_ms = [0.0] * len(scenario.sizes)
    environment.process(_arrive(environment, devices, scenario, latencies_ms))
    environment.run()
    return latencies_ms


def _arrive(
    environment: simpy.Environment, devices: list[simpy.Resource], scenario: Scenario, latencies_ms: list[float]
) -> Generator[simpy.Event, Any, None]:
    free_at_ms = [0.0] * scenario.devices
    for query, arrival_ms in enumerate(scenario.arrivals_ms):
        yield environment.timeout(arrival_ms - environment.now)
        size = scenario.sizes[query]
        path, device = choose(scenario.entries, size, arrival_ms, free_at_ms, scenario.service_ms[size])
        taken_ms = scenario.service_ms[size][path] * scenario.factors[query]
        free_at_ms[device] = max(arrival_ms, free_at_ms[device]) + taken_ms
        environment.process(_query(environment, devices[device], query, taken_ms, latencies_ms))


def _query(
    environment: simpy.Environment, device: simpy.Resource, query: int, taken_ms: float, latencies_ms: list[float]
) -> Generator[simpy.Event, Any, None]:
    arrival_ms = environment.now
    with device.request() as request:
        yield request
        yield environment.timeout(taken_ms)
    latencies_ms[query] = environment.now - arrival_ms
