"""How near the bound one can come: with all queries known beforehand, and with options chosen once the run is over.

Both keep to what the simulator's devices do: a query is served whole, on one path, first come first served.
"""

from itertools import product

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiles.units import MS_PER_S
from serving_sim.policies import Headroom
from tests.benchmarks.headroom_scenarios import Load

__all__ = ["best_in_hindsight_per_s", "plan_ahead", "planned_per_s"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SETTINGS = tuple(
    Headroom(
        wait_weight=wait_weight, idle_share=idle_share, crowded_load=load, crowd_weight=weight, memory_queries=memory
    )
    for wait_weight, idle_share, load, weight, memory in product(
        (1.0, 4.0), (0.5, 1.0), (3.4, 8.0, 20.0), (4.0, 1e9), (250, 4000)
    )
)


def best_in_hindsight_per_s(load: Load, qps: float) -> float:
    """Correct predictions in the SLA per second of `headroom`, with the options that suit this very run best."""
    return max(load.serve(policy, qps).correct_per_s for policy in _SETTINGS)


def planned_per_s(load: Load, qps: float) -> float:
    """The same of a plan made of all queries at once (see `plan_ahead`), for service times that do not scatter."""
    arrival_ms_N = np.cumsum(load.chunk.gap_N * (MS_PER_S / qps))
    paths, size_N = load.paths, load.chunk.size_N
    path_N = plan_ahead(
        arrival_ms_N, paths.service_ms_SP[size_N], paths.device_P, paths.servers_D, load.plan.workload.sla_ms, size_N
    )
    correct_N = np.where(path_N >= 0, paths.accuracy_P[path_N] * size_N, 0.0)
    span_s = float(load.chunk.gap_N[load.skip + 1 :].sum()) / qps
    return float(correct_N[load.skip :].sum()) / span_s


def plan_ahead(
    arrival_ms_N: Floats, service_ms_NP: Floats, device_P: Ints, servers_D: Ints, sla_ms: float, worth_N: Ints
) -> Ints:
    """Each query's path, -1 where it is refused: those worth most are placed first, each on the quickest path on which
    it and all those placed before are done in time.
    """
    first_D = np.cumsum(servers_D) - servers_D
    order_P = np.argsort(np.median(service_ms_NP, axis=0))
    order_N = np.argsort(-worth_N, kind="stable")
    path_N, server_N = np.full(len(order_N), -1), np.full(len(order_N), -1)
    timing = (arrival_ms_N, np.zeros(len(order_N)), np.zeros(len(order_N)), server_N)
    _place(order_N, order_P, service_ms_NP, (device_P, first_D, servers_D), sla_ms, timing, path_N)
    return path_N


@njit(cache=True)
def _place(
    order_N: Ints,
    order_P: Ints,
    service_ms_NP: Floats,
    devices: tuple[Ints, Ints, Ints],
    sla_ms: float,
    timing: tuple[Floats, Floats, Floats, Ints],
    path_N: Ints,
) -> None:
    device_P, first_D, servers_D = devices
    for query in order_N:
        for path in order_P:
            if path_N[query] >= 0 or service_ms_NP[query, path] > sla_ms:
                continue
            device = device_P[path]
            for server in range(first_D[device], first_D[device] + servers_D[device]):
                if _fits(query, server, service_ms_NP[query, path], sla_ms, timing, False):
                    _fits(query, server, service_ms_NP[query, path], sla_ms, timing, True)
                    path_N[query] = path
                    break


@njit(cache=True)
def _fits(
    query: int, server: int, service_ms: float, sla_ms: float, timing: tuple[Floats, Floats, Floats, Ints], keep: bool
) -> bool:
    """Whether the query, and those behind it on the server, are still in time; `keep` places it there."""
    arrival_ms_N, start_ms_N, service_ms_N, server_N = timing
    before, start_ms = query - 1, arrival_ms_N[query]
    while before >= 0 and arrival_ms_N[before] >= arrival_ms_N[query] - sla_ms:
        if server_N[before] == server:
            start_ms = max(start_ms, start_ms_N[before] + service_ms_N[before])
            break
        before -= 1
    end_ms = start_ms + service_ms
    if end_ms - arrival_ms_N[query] > sla_ms:
        return False
    if keep:
        start_ms_N[query], service_ms_N[query], server_N[query] = start_ms, service_ms, server
    behind = query + 1
    while behind < arrival_ms_N.size and arrival_ms_N[behind] < end_ms:
        if server_N[behind] == server:
            if end_ms <= start_ms_N[behind]:
                break
            if end_ms + service_ms_N[behind] - arrival_ms_N[behind] > sla_ms:
                return False
            if keep:
                start_ms_N[behind] = end_ms
            end_ms += service_ms_N[behind]
        behind += 1
    return True
