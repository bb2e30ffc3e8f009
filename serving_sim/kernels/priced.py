"""Routing by prices of device time that are learned as queries come, and first-come-first-served queues.

A query takes the path that earns most: correct predictions less the price of its device time (see `prices`).

Shape suffixes as in `arrays`; R rows (class x bin of sizes), G figures, O options.
"""

import numpy as np

from serving_sim.kernels.arrays import (
    MOST_WAITING,
    REFUSAL,
    Chunk,
    Floats,
    Ints,
    PathArrays,
    Queues,
    Rule,
    Waiting,
    WaitingArrays,
)
from serving_sim.kernels.blocking import blocking_cost
from serving_sim.kernels.compiled import compiled, inlined
from serving_sim.kernels.conditions import condition_on
from serving_sim.kernels.market import (
    CROWD,
    CROWD_WEIGHT,
    FORGETS,
    IDLE_SHARE,
    LOSSES,
    LOST,
    MEMORY_QUERIES,
    MOST_FOR_LOSSES,
    REFUSES,
    TABLE_COUNTS,
    TRIFLE,
    URGENCY,
    WAIT_WEIGHT,
    LearnedArrays,
    Market,
    Room,
)
from serving_sim.kernels.prices import add_to_mix, renew

__all__ = ["serve_priced"]


@inlined
def _learn(device: int, server: int, learned: LearnedArrays) -> None:
    """A query is done: hold its service time against its path's table."""
    observed_P, tabled_P, ratio_P, _, _, begun_factor_DC, begun_path_DC = learned
    path = begun_path_DC[device, server]
    if path >= 0:
        observed_P[path] += begun_factor_DC[device, server] - FORGETS * observed_P[path]
        tabled_P[path] += 1.0 - FORGETS * tabled_P[path]
        ratio_P[path] = (observed_P[path] + TABLE_COUNTS) / (tabled_P[path] + TABLE_COUNTS)


# The three below do as `start_waiting`, `expected_wait_ms` and `note_query` of the file on serving, and learn.
@inlined
def _start_waiting(device: int, now_ms: float, waiting: WaitingArrays, learned: LearnedArrays) -> None:
    _, _, _, factor_DW, path_DW, begun_factor_DC, begun_path_DC = learned
    first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, begun_ms_DC, begun_mean_ms_DC = waiting
    first, count, work_ms = first_D[device], count_D[device], work_ms_D[device]
    while count > 0 and start_ms_DW[device, first] <= now_ms:
        server = server_DW[device, first]
        _learn(device, server, learned)
        begun_ms_DC[device, server] = start_ms_DW[device, first]
        begun_mean_ms_DC[device, server] = mean_ms_DW[device, first]
        begun_factor_DC[device, server] = factor_DW[device, first]
        begun_path_DC[device, server] = path_DW[device, first]
        work_ms = work_ms - mean_ms_DW[device, first] if count > 1 else 0.0
        first, count = (first + 1) % MOST_WAITING, count - 1
    first_D[device], count_D[device], work_ms_D[device] = first, count, work_ms


@inlined
def _expected_wait_ms(device: int, now_ms: float, servers: int, waiting: WaitingArrays) -> float:
    _, _, work_ms_D, _, _, _, begun_ms_DC, begun_mean_ms_DC = waiting
    least_ms, left_ms, mean_ms = np.inf, 0.0, 0.0
    for server in range(servers):
        rest_ms = max(0.0, begun_ms_DC[device, server] + begun_mean_ms_DC[device, server] - now_ms)
        least_ms = min(least_ms, rest_ms)
        left_ms += rest_ms
        mean_ms += begun_mean_ms_DC[device, server]
    ahead_ms = mean_ms / servers * (servers - 1) / (2 * servers)
    return float(max(least_ms, (left_ms + work_ms_D[device]) / servers - ahead_ms))


@inlined
def _note_query(
    place: tuple[int, int, int],
    now_ms: float,
    start_ms: float,
    mean_ms: float,
    factor: float,
    waiting: WaitingArrays,
    learned: LearnedArrays,
) -> None:
    device, server, path = place
    _, _, _, factor_DW, path_DW, begun_factor_DC, begun_path_DC = learned
    first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, begun_ms_DC, begun_mean_ms_DC = waiting
    if start_ms <= now_ms:
        _learn(device, server, learned)
        begun_ms_DC[device, server], begun_mean_ms_DC[device, server] = start_ms, mean_ms
        begun_factor_DC[device, server], begun_path_DC[device, server] = factor, path
        return
    work_ms_D[device] += mean_ms
    if count_D[device] == MOST_WAITING:
        mean_ms_DW[device, (first_D[device] + MOST_WAITING - 1) % MOST_WAITING] += mean_ms
        return
    last = (first_D[device] + count_D[device]) % MOST_WAITING
    start_ms_DW[device, last], mean_ms_DW[device, last], server_DW[device, last] = start_ms, mean_ms, server
    factor_DW[device, last], path_DW[device, last] = factor, path
    count_D[device] += 1


@compiled
def _charge(
    wait_ms_D: Floats,
    options_O: Floats,
    prices_D: tuple[Floats, Floats],
    weights: tuple[float, float],
    charge_D: Floats,
) -> float:
    """What device time costs a query now: the learned price, less on an idle device, more on a crowded one and where
    samples were lost lately. `weights` are that of the crowd's prices, and what the losses count for.

    Returns how crowded the least crowded device is: its wait as a share of the SLA, 1 at most.
    """
    (price_D, crowded_D), (weight, losses) = prices_D, weights
    wait_weight, idle_share, least, per_sla = options_O[WAIT_WEIGHT], options_O[IDLE_SHARE], 1.0, options_O[URGENCY]
    for device in range(wait_ms_D.size):
        wait = wait_ms_D[device] * per_sla
        crowd = min(1.0, wait)
        price, crowded = price_D[device], crowded_D[device]
        charge = price * (idle_share + wait_weight * wait) + min(losses, MOST_FOR_LOSSES * crowded)
        charge = min(charge, max(crowded, price))
        charge_D[device] = max(charge, crowded * weight * crowd * crowd)
        least = min(least, crowd)
    return least


@compiled
def _note_rests(
    now_ms: float,
    free_ms_DC: Floats,
    wait_ms_D: Floats,
    servers_D: Ints,
    uncertain_D: Ints,
    waiting: WaitingArrays,
    room: Room,
) -> None:
    """What is left of each server's work, as far as a router can know it."""
    begun_ms_DC, begun_mean_ms_DC, rest_ms_DC = waiting[6], waiting[7], room.rest_ms_DC
    for device in range(servers_D.size):
        least_ms = np.inf
        for server in range(servers_D[device]):
            rest_ms = max(0.0, free_ms_DC[device, server] - now_ms)
            if uncertain_D[device] and rest_ms > 0:
                rest_ms = max(0.0, begun_ms_DC[device, server] + begun_mean_ms_DC[device, server] - now_ms)
            rest_ms_DC[device, server], least_ms = rest_ms, min(least_ms, rest_ms)
        if uncertain_D[device]:
            rest_ms_DC[device] += max(0.0, wait_ms_D[device] - least_ms)


@compiled
def _note_blocking(
    now_ms: float,
    query: tuple[int, float, float],
    devices: tuple[Floats, Floats, Ints, Ints],
    waiting: WaitingArrays,
    path_E: Ints,
    tables: tuple[Floats, Floats, Ints, Floats],
    room: Room,
    blocking_P: Floats,
) -> None:
    """What a service on each path that holds the SLA costs those who come while it lasts; `query` is the size, the SLA
    and the weight of the crowd's prices.
    """
    (size, sla_ms, crowded), (free_ms_DC, wait_ms_D, servers_D, uncertain_D) = query, devices
    service_ms_SP, ratio_P, device_P, _ = tables
    _note_rests(now_ms, free_ms_DC, wait_ms_D, servers_D, uncertain_D, waiting, room)
    blocking_P[:] = 0.0
    for path in path_E:
        device, service_ms = device_P[path], service_ms_SP[size, path] * ratio_P[path]
        if room.least_ms_D[device] < wait_ms_D[device] + service_ms <= sla_ms:
            blocking_P[path] = blocking_cost(device, wait_ms_D[device], service_ms, crowded, servers_D, room)


@compiled
def _choose(
    size: int,
    sla_ms: float,
    wait_ms_D: Floats,
    charge_D: Floats,
    blocking_P: Floats,
    least_ms_D: Floats,
    path_E: Ints,
    tables: tuple[Floats, Floats, Ints, Floats],
) -> tuple[int, float, int, bool]:
    """The path that earns most of those within the SLA, -1 where none is; what the most is; the earliest of all;
    whether on some path within the SLA the query would be done later than `least_ms_D`.

    Of paths that earn the same but for a trifle the earliest is taken.
    """
    service_ms_SP, ratio_P, device_P, accuracy_P = tables
    best, earliest_ms, earliest, is_long = -np.inf, np.inf, -1, False
    for entry in range(path_E.size):
        path = path_E[entry]
        device = device_P[path]
        service_ms = service_ms_SP[size, path] * ratio_P[path]
        latency_ms = wait_ms_D[device] + service_ms
        gain = accuracy_P[path] * size - charge_D[device] * service_ms - blocking_P[path]
        best = gain if (latency_ms <= sla_ms) & (gain > best) else best
        is_long |= (latency_ms <= sla_ms) & (latency_ms > least_ms_D[device])
        sooner = latency_ms < earliest_ms
        earliest_ms = latency_ms if sooner else earliest_ms
        earliest = path if sooner else earliest
    enough, best_path, best_ms = best - TRIFLE * size, -1, np.inf
    for entry in range(path_E.size):
        path = path_E[entry]
        service_ms = service_ms_SP[size, path] * ratio_P[path]
        latency_ms = wait_ms_D[device_P[path]] + service_ms
        gain = accuracy_P[path] * size - charge_D[device_P[path]] * service_ms - blocking_P[path]
        better = (latency_ms <= sla_ms) & (gain >= enough) & (latency_ms < best_ms)
        best_path = path if better else best_path
        best_ms = latency_ms if better else best_ms
    return best_path, best, earliest, is_long


@compiled
def _accepted(path: int, gain: float, earliest: int, refuses: float) -> int:
    if refuses > 0:
        return path if gain >= 0.0 else REFUSAL
    return path if path >= 0 else earliest


@compiled
def _soonest(free_ms_C: Floats, servers: int) -> int:
    soonest = 0
    for server in range(1, servers):
        if free_ms_C[server] < free_ms_C[soonest]:
            soonest = server
    return soonest


@inlined
def _occupy(
    device: int, until_ms: float, servers_D: Ints, free_ms_DC: Floats, next_ms_D: Floats, next_server_D: Ints
) -> None:
    """Keep the device's next server busy."""
    free_ms_DC[device, next_server_D[device]] = until_ms
    if servers_D[device] > 1:
        next_server_D[device] = _soonest(free_ms_DC[device], servers_D[device])
    next_ms_D[device] = free_ms_DC[device, next_server_D[device]]


@inlined
def _look(
    now_ms: float,
    servers_D: Ints,
    uncertain_D: Ints,
    waiting: WaitingArrays,
    learned: LearnedArrays,
    wait_ms_D: Floats,
) -> None:
    """Put the expected wait in place of the one that will be, where a router cannot know it."""
    for device in range(servers_D.size):
        if uncertain_D[device]:
            if waiting[1][device] > 0:
                _start_waiting(device, now_ms, waiting, learned)
            if wait_ms_D[device] > 0:
                expected_ms = _expected_wait_ms(device, now_ms, servers_D[device], waiting)
                # As the other loops have it, which know until when there is work.
                wait_ms_D[device] = max(0.0, (now_ms + expected_ms) - now_ms)


@compiled
def serve_priced(
    chunk: Chunk,
    count: int,
    gap_ms: float,
    rule: Rule,
    paths: PathArrays,
    queues: Queues,
    waiting: Waiting,
    market: Market,
) -> None:
    """Price, route and serve the first `count` queries of the chunk; fills its arrival, start, service and path.

    A query that would earn nothing, or be late on every path, is refused where the options say so (path -1).
    """
    _, path_E, _, limit_ms_CE, _, options_O = rule
    spread_P, servers_D, uncertain_D, conditions_PF = (
        paths.spread_P,
        paths.servers_D,
        paths.uncertain_D,
        paths.conditions_PF,
    )
    service_ms_SP, device_P, ratio_P = paths.service_ms_SP, paths.device_P, market.ratio_P
    tables = (service_ms_SP, ratio_P, device_P, paths.accuracy_P)
    free_ms_DC, next_ms_D, next_server_D, clock_ms = (
        queues.free_ms_DC,
        queues.next_ms_D,
        queues.next_server_D,
        queues.clock_ms,
    )
    price_D, crowded_D, _, weight_R, samples_R, figures_G = market[:6]
    learned, room, waits, prices_D = market[6:13], market.room, waiting[:8], (price_D, crowded_D)
    mix_RG = (weight_R, samples_R, figures_G)
    gap_N, size_N, class_N, factor_KN, arrival_ms_N, start_ms_N, service_ms_N, _, path_N = chunk
    wait_ms_D, charge_D, sla_ms_C = np.zeros(servers_D.size), np.zeros(servers_D.size), limit_ms_CE[:, 0].copy()
    now_ms, crowd, lost, lost_rate = clock_ms[0], figures_G[CROWD], figures_G[LOST], 1.0 / options_O[MEMORY_QUERIES]
    crowd_rate, losses, estimates = 4.0 * lost_rate, room.figures_F[LOSSES], uncertain_D.any()
    blocking_P, nothing_P = np.zeros(device_P.size), np.zeros(device_P.size)
    devices, least_ms_D = (free_ms_DC, wait_ms_D, servers_D, uncertain_D), room.least_ms_D
    for query in range(count):
        gap, size, class_ = gap_N[query] * gap_ms, size_N[query], class_N[query]
        now_ms += gap
        if add_to_mix(class_, size, gap, mix_RG):
            figures_G[LOST] = lost
            renew(options_O, market, sla_ms_C, tables, servers_D)
            losses = room.figures_F[LOSSES]
        for device in range(servers_D.size):
            wait_ms_D[device] = max(0.0, next_ms_D[device] - now_ms)
        if estimates:
            _look(now_ms, servers_D, uncertain_D, waits, learned, wait_ms_D)
        weight = min(options_O[CROWD_WEIGHT] * crowd, 1.0)
        crowd += (_charge(wait_ms_D, options_O, prices_D, (weight, losses), charge_D) - crowd) * crowd_rate
        chosen = _choose(size, sla_ms_C[class_], wait_ms_D, charge_D, nothing_P, least_ms_D, path_E, tables)
        if chosen[3]:
            _note_blocking(now_ms, (size, sla_ms_C[class_], weight), devices, waits, path_E, tables, room, blocking_P)
            chosen = _choose(size, sla_ms_C[class_], wait_ms_D, charge_D, blocking_P, least_ms_D, path_E, tables)
        lost += ((size if chosen[1] < 0.0 else 0.0) - lost) * lost_rate
        path = _accepted(chosen[0], chosen[1], chosen[2], options_O[REFUSES])
        arrival_ms_N[query], start_ms_N[query], service_ms_N[query], path_N[query] = now_ms, now_ms, 0.0, path
        if path < 0:
            continue
        device, factor = device_P[path], factor_KN[spread_P[path], query]
        start_ms, server = max(now_ms, next_ms_D[device]), next_server_D[device]
        service_ms = service_ms_SP[size, path] * factor
        if conditions_PF.size:
            idle_ms, residual_D = start_ms - next_ms_D[device], queues.residual_D
            change, added_ms, residual = condition_on(conditions_PF, path, factor, idle_ms, residual_D[device])
            service_ms, residual_D[device] = service_ms * change + added_ms, residual
            if service_ms != service_ms_SP[size, path] * factor:
                factor = service_ms / service_ms_SP[size, path]
        if uncertain_D[device]:
            mean_ms = service_ms_SP[size, path] * ratio_P[path]
            _note_query((device, server, path), now_ms, start_ms, mean_ms, factor, waits, learned)
        _occupy(device, start_ms + service_ms, servers_D, free_ms_DC, next_ms_D, next_server_D)
        start_ms_N[query], service_ms_N[query] = start_ms, service_ms
    clock_ms[0], figures_G[CROWD], figures_G[LOST] = now_ms, crowd, lost
