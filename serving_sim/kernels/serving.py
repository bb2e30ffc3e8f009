"""Routing and first-come-first-served queues: each query of a chunk takes a path and a server.

Queries come in order of arrival, and each takes the server of its device that is free first. All of these loops decide
alike; each serves what those before it in this list cannot: `serve_fixed` one path, `serve_pair` (in `pair`) steps on
one or two devices of one server, `serve_steps` steps on any devices, `serve_chunk` any rule, with scattered service
times, cold servers and correlated scatter.
"""

import numpy as np

from serving_sim.kernels.arrays import (
    MOST_WAITING,
    TIERED,
    Chunk,
    Floats,
    Ints,
    PathArrays,
    Queues,
    Rule,
    Steps,
    Waiting,
    WaitingArrays,
)
from serving_sim.kernels.compiled import compiled, compiled_borrowing
from serving_sim.kernels.conditions import condition_on

__all__ = [
    "expected_wait_ms",
    "note_query",
    "serve_chunk",
    "serve_fixed",
    "serve_steps",
    "start_waiting",
]


# No helper stands where it is called: a loop of many branches counts references, a helper without new arrays none.
@compiled_borrowing
def _first_tier(
    rule_E: tuple[Ints, Ints, Ints, Floats, Floats],
    size: int,
    now_ms: float,
    next_ms_D: Floats,
    service_ms_P: Floats,
) -> int:
    """The earliest path of the first tier that has one which passes; from the last, so that no branch mispredicts."""
    path_E, device_E, tier_E, limit_ms_E, rate_per_ms_E = rule_E
    best, best_ms, tier = path_E[-1], np.inf, -1
    for entry in range(path_E.size - 1, -1, -1):
        best_ms = best_ms if tier_E[entry] == tier else np.inf
        tier = tier_E[entry]
        service_ms = service_ms_P[path_E[entry]]
        wait_ms = next_ms_D[device_E[entry]] - now_ms
        latency_ms = service_ms + (max(0.0, wait_ms))
        passes = (latency_ms <= limit_ms_E[entry]) & (size >= rate_per_ms_E[entry] * service_ms)
        better = passes & (latency_ms <= best_ms)
        best = path_E[entry] if better else best
        best_ms = latency_ms if better else best_ms
    return int(best)


@compiled_borrowing
def _soonest(free_ms_C: Floats, servers: int) -> int:
    soonest = 0
    for server in range(1, servers):
        if free_ms_C[server] < free_ms_C[soonest]:
            soonest = server
    return soonest


@compiled_borrowing
def start_waiting(device: int, now_ms: float, waiting: WaitingArrays) -> None:
    """Move the queries whose start has come from those that wait to those under way."""
    first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, under_way_start_ms_DC, under_way_mean_ms_DC = (
        waiting
    )
    first, count, work_ms = first_D[device], count_D[device], work_ms_D[device]
    while count > 0 and start_ms_DW[device, first] <= now_ms:
        server = server_DW[device, first]
        under_way_start_ms_DC[device, server] = start_ms_DW[device, first]
        under_way_mean_ms_DC[device, server] = mean_ms_DW[device, first]
        work_ms = work_ms - mean_ms_DW[device, first] if count > 1 else 0.0
        first, count = (first + 1) % MOST_WAITING, count - 1
    first_D[device], count_D[device], work_ms_D[device] = first, count, work_ms


@compiled_borrowing
def expected_wait_ms(device: int, now_ms: float, servers: int, waiting: WaitingArrays) -> float:
    """Expected wait at a device whose servers are all busy, from mean service times alone.

    With one server, what is left of the query under way (0 once it is overdue) and the means of those waiting. With
    more, the work is spread evenly, less the (c - 1) / 2c of a service by which the first of c servers is ahead of
    their average; and no less than what is left of the query that ends first.
    """
    _, _, work_ms_D, _, _, _, under_way_start_ms_DC, under_way_mean_ms_DC = waiting
    least_ms, left_ms, mean_ms = np.inf, 0.0, 0.0
    for server in range(servers):
        server_mean_ms = under_way_mean_ms_DC[device, server]
        rest_ms = max(0.0, under_way_start_ms_DC[device, server] + server_mean_ms - now_ms)
        least_ms = min(least_ms, rest_ms)
        left_ms += rest_ms
        mean_ms += server_mean_ms
    ahead_ms = mean_ms / servers * (servers - 1) / (2 * servers)
    return float(max(least_ms, (left_ms + work_ms_D[device]) / servers - ahead_ms))


@compiled_borrowing
def note_query(
    device: int, server: int, now_ms: float, start_ms: float, mean_ms: float, waiting: WaitingArrays
) -> None:
    """Keep what a router may know of a query that a device has taken."""
    first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, under_way_start_ms_DC, under_way_mean_ms_DC = (
        waiting
    )
    if start_ms <= now_ms:
        under_way_start_ms_DC[device, server] = start_ms
        under_way_mean_ms_DC[device, server] = mean_ms
        return
    count = count_D[device]
    work_ms_D[device] += mean_ms
    if count == MOST_WAITING:
        last = (first_D[device] + count - 1) % MOST_WAITING
        mean_ms_DW[device, last] += mean_ms
        return
    place = (first_D[device] + count) % MOST_WAITING
    start_ms_DW[device, place] = start_ms
    mean_ms_DW[device, place] = mean_ms
    server_DW[device, place] = server
    count_D[device] = count + 1


@compiled
def serve_fixed(chunk: Chunk, count: int, gap_ms: float, path: int, paths: PathArrays, queues: Queues) -> None:
    """Serve the first `count` queries of the chunk on one path; fills its arrival, start, service and path."""
    free_ms_DC, next_ms_D, next_server_D, _, clock_ms, _ = queues
    gap_N, size_N, _, factor_KN, arrival_ms_N, start_ms_N, service_ms_N, _, path_N = chunk
    service_ms_SP, device, spread = paths.service_ms_SP, paths.device_P[path], paths.spread_P[path]
    servers = paths.servers_D[device]
    now_ms, next_ms = clock_ms[0], next_ms_D[device]
    for query in range(count):
        now_ms += gap_N[query] * gap_ms
        service_ms = service_ms_SP[size_N[query], path] * factor_KN[spread, query]
        arrival_ms_N[query] = now_ms
        start_ms_N[query] = max(now_ms, next_ms)
        service_ms_N[query] = service_ms
        path_N[query] = path
        next_ms = max(now_ms, next_ms) + service_ms
        if servers > 1:
            free_ms_DC[device, next_server_D[device]] = next_ms
            next_server_D[device] = _soonest(free_ms_DC[device], servers)
            next_ms = free_ms_DC[device, next_server_D[device]]
    clock_ms[0], next_ms_D[device] = now_ms, next_ms


@compiled
def serve_steps(chunk: Chunk, count: int, gap_ms: float, steps: Steps, servers_D: Ints, queues: Queues) -> None:
    """Serve the first `count` queries of the chunk by steps, without scatter."""
    sizes, last_step, limit_ms_RX, service_ms_RX, tier_entry_RX, path_RX, _, _ = steps
    free_ms_DC, next_ms_D, next_server_D, _, clock_ms, _ = queues
    gap_N, size_N, class_N, _, arrival_ms_N, start_ms_N, service_ms_N, _, path_N = chunk
    done_ms_D = np.empty(servers_D.size)
    now_ms = clock_ms[0]
    for query in range(count):
        now_ms += gap_N[query] * gap_ms
        row = class_N[query] * sizes + size_N[query]
        best_code, best_device, taken = 2**31 - 1, 0, 0
        for device in range(servers_D.size):
            wait_ms = max(0.0, next_ms_D[device] - now_ms)
            place = device * (last_step + 1)
            for step in range(device * last_step, (device + 1) * last_step):
                place += wait_ms > limit_ms_RX[row, step]
            code = tier_entry_RX[row, place]
            done_ms_D[device] = wait_ms + service_ms_RX[row, place]
            best_ms = done_ms_D[best_device]
            earlier = (done_ms_D[device] < best_ms) | ((done_ms_D[device] == best_ms) & (code < best_code))
            better = (code >> 16 < best_code >> 16) | ((code >> 16 == best_code >> 16) & earlier)
            best_code = code if better else best_code
            best_device = device if better else best_device
            taken = place if better else taken
        service_ms = service_ms_RX[row, taken]
        start_ms = max(now_ms, next_ms_D[best_device])
        next_ms_D[best_device] = start_ms + service_ms
        if servers_D[best_device] > 1:
            free_ms_DC[best_device, next_server_D[best_device]] = start_ms + service_ms
            next_server_D[best_device] = _soonest(free_ms_DC[best_device], servers_D[best_device])
            next_ms_D[best_device] = free_ms_DC[best_device, next_server_D[best_device]]
        arrival_ms_N[query] = now_ms
        start_ms_N[query] = start_ms
        service_ms_N[query] = service_ms
        path_N[query] = path_RX[row, taken]
    clock_ms[0] = now_ms


@compiled_borrowing
def _expect(
    now_ms: float, next_ms_D: Floats, servers_D: Ints, uncertain_D: Ints, waiting: WaitingArrays, expected_ms_D: Floats
) -> None:
    """When each device is expected to be free, as far as a router can know."""
    count_D = waiting[1]
    for device in range(servers_D.size):
        expected_ms_D[device] = next_ms_D[device]
        if not uncertain_D[device]:
            continue
        if count_D[device] > 0:
            start_waiting(device, now_ms, waiting)
        if next_ms_D[device] > now_ms:
            expected_ms_D[device] = now_ms + expected_wait_ms(device, now_ms, servers_D[device], waiting)


@compiled
def serve_chunk(
    chunk: Chunk, count: int, gap_ms: float, rule: Rule, paths: PathArrays, queues: Queues, waiting: Waiting
) -> None:
    """Route and serve the first `count` queries of the chunk; fills its arrival, start, service and path.

    Routing sees which servers are idle and the mean service of all else; where service does not scatter, that is what
    it takes.
    """
    kind, path_E, tier_E, limit_ms_CE, rate_per_ms_E, _, _ = rule
    service_ms_SP, device_P, spread_P, servers_D = paths.service_ms_SP, paths.device_P, paths.spread_P, paths.servers_D
    free_ms_DC, next_ms_D, next_server_D, _, clock_ms, residual_D = queues
    gap_N, size_N, class_N, factor_KN, arrival_ms_N, start_ms_N, service_ms_N, _, path_N = chunk
    first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, begun_ms_DC, begun_mean_ms_DC = waiting
    ring = (first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, begun_ms_DC, begun_mean_ms_DC)
    device_E, uncertain_D, conditions_PF = device_P[path_E], paths.uncertain_D, paths.conditions_PF
    estimates = kind == TIERED and uncertain_D.any()
    expected_ms_D = next_ms_D.copy() if estimates else next_ms_D
    now_ms, path = clock_ms[0], path_E[0]
    for query in range(count):
        now_ms += gap_N[query] * gap_ms
        size = size_N[query]
        if estimates:
            _expect(now_ms, next_ms_D, servers_D, uncertain_D, ring, expected_ms_D)
        if kind == TIERED:
            entries = (path_E, device_E, tier_E, limit_ms_CE[class_N[query]], rate_per_ms_E)
            path = _first_tier(entries, size, now_ms, expected_ms_D, service_ms_SP[size])
        device = device_P[path]
        service_ms = service_ms_SP[size, path] * factor_KN[spread_P[path], query]
        start_ms = max(now_ms, next_ms_D[device])
        if conditions_PF.size:
            factor, idle_ms = factor_KN[spread_P[path], query], start_ms - next_ms_D[device]
            change, added_ms, residual = condition_on(conditions_PF, path, factor, idle_ms, residual_D[device])
            service_ms, residual_D[device] = service_ms * change + added_ms, residual
        if estimates and uncertain_D[device]:
            note_query(device, next_server_D[device], now_ms, start_ms, service_ms_SP[size, path], ring)
        next_ms_D[device] = start_ms + service_ms
        if servers_D[device] > 1:
            free_ms_DC[device, next_server_D[device]] = start_ms + service_ms
            next_server_D[device] = _soonest(free_ms_DC[device], servers_D[device])
            next_ms_D[device] = free_ms_DC[device, next_server_D[device]]
        arrival_ms_N[query] = now_ms
        start_ms_N[query] = start_ms
        service_ms_N[query] = service_ms
        path_N[query] = path
    clock_ms[0] = now_ms
