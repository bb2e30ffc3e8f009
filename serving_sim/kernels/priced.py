"""Routing by prices of device time that are learned as queries come, and first-come-first-served queues.

A router prices device time by the fluid program of its last queries (their sizes, classes and rate): an ascent of the
dual's prices, a few steps now and then. A second set of prices belongs to a load far above capacity: what a device is
worth when it is crowded. A query takes the path that earns most: correct predictions less the price of its time.

Shape suffixes as in `arrays`; R rows (class x bin of sizes), G figures, O options.
"""

import math

import numpy as np
from numba import njit

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
from serving_sim.kernels.market import (
    CROWD,
    CROWD_WEIGHT,
    CROWDED_LOAD,
    FORGETS,
    IDLE_SHARE,
    MEMORY_QUERIES,
    REFUSES,
    SIZE_BINS,
    TABLE_COUNTS,
    TRIFLE,
    WAIT_WEIGHT,
    LearnedArrays,
    Market,
)

__all__ = ["note_mix", "renew_prices", "serve_priced", "until_renewal"]

# Places of `Market.figures_G`: time that the rows span, queries seen before prices were last renewed, queries since,
# how many until the next time, and how crowded the least crowded device was lately.
_SPAN_MS, _SEEN, _SINCE, _EVERY, _CROWD = 0, 1, 2, 3, CROWD
_RENEWED_EVERY, _FIRST_QUERIES, _STEPS, _FIRST_STEPS, _STEP = 256, 16, 4, 100, 0.1
_LOWEST_SHARE = 1e-6
_HALF_OCTAVES, _FIRST_HALF_OCTAVE = 51, 2 * 1023


@njit(cache=True, inline="always")
def _bin(size: int) -> int:
    """Two to an octave: what a float keeps above the second bit of its fraction."""
    return int((np.float64(size).view(np.int64) >> _HALF_OCTAVES) - _FIRST_HALF_OCTAVE)


@njit(cache=True)
def _demand(
    mix_R: tuple[Floats, Floats],
    sla_ms_C: Floats,
    price_D: Floats,
    tables: tuple[Floats, Floats, Ints, Floats],
    used_ms_D: Floats,
) -> float:
    """The least price of serving all rows; `used_ms_D` receives the time that they take where each earns most."""
    weight_R, samples_R = mix_R
    service_ms_SP, ratio_P, device_P, accuracy_P = tables
    used_ms_D[:] = 0.0
    cost = 0.0
    for row in range(weight_R.size):
        weight = weight_R[row]
        if weight <= 0:
            continue
        size, sla_ms = int(samples_R[row] / weight + 0.5), sla_ms_C[row // SIZE_BINS]
        best, best_path, best_ms, least = 0.0, -1, 0.0, np.inf
        for path in range(device_P.size):
            service_ms = service_ms_SP[size, path] * ratio_P[path]
            price = price_D[device_P[path]] * service_ms
            if service_ms > sla_ms:
                continue
            least = min(least, price)
            if accuracy_P[path] * size - price > best:
                best, best_path, best_ms = accuracy_P[path] * size - price, path, service_ms
        if best_path >= 0:
            used_ms_D[device_P[best_path]] += weight * best_ms
        cost += weight * least if least < np.inf else 0.0
    return cost


@njit(cache=True)
def _ascend(
    steps: int,
    load: float,
    price_D: Floats,
    highest_D: Floats,
    available_ms_D: Floats,
    mix_R: tuple[Floats, Floats],
    sla_ms_C: Floats,
    tables: tuple[Floats, Floats, Ints, Floats],
) -> None:
    """Raise the price of a device that the rows want for longer than it is there at `load` times their rate, lower
    that of others (mirror descent on the dual of the fluid program).
    """
    used_ms_D = np.empty(price_D.size)
    for step in range(steps):
        _demand(mix_R, sla_ms_C, price_D, tables, used_ms_D)
        for device in range(price_D.size):
            excess = min(used_ms_D[device] * load / available_ms_D[device] - 1.0, 1.0)
            price = price_D[device] * math.exp(_STEP / (1 + 0.1 * step) * excess)
            price_D[device] = min(max(price, _LOWEST_SHARE * highest_D[device]), highest_D[device])


@njit(cache=True)
def _renew(
    options_O: Floats, market: Market, sla_ms_C: Floats, tables: tuple[Floats, Floats, Ints, Floats], servers_D: Ints
) -> None:
    """Prices of the mix as it is now; then let older queries count less."""
    price_D, crowded_D, highest_D, weight_R, samples_R, figures_G = market[:6]
    since = figures_G[_SINCE]
    figures_G[_SEEN] += since
    figures_G[_SINCE], figures_G[_EVERY] = 0.0, _RENEWED_EVERY if figures_G[_SEEN] >= _RENEWED_EVERY else _FIRST_QUERIES
    mix_R = (weight_R, samples_R)
    available_ms_D = servers_D * figures_G[_SPAN_MS]
    steps = _STEPS if figures_G[_SEEN] >= options_O[MEMORY_QUERIES] / 2 else _FIRST_STEPS
    _ascend(steps, 1.0, price_D, highest_D, available_ms_D, mix_R, sla_ms_C, tables)
    cost = _demand(mix_R, sla_ms_C, crowded_D, tables, np.empty(crowded_D.size))
    if cost > 0:
        # By weak duality no rate above this one can be served in full.
        capacity = (crowded_D * available_ms_D).sum() / cost
        load = options_O[CROWDED_LOAD] * capacity
        _ascend(steps, load, crowded_D, highest_D, available_ms_D, mix_R, sla_ms_C, tables)
    if figures_G[_SEEN] > options_O[MEMORY_QUERIES]:
        kept = max(1.0 - since / options_O[MEMORY_QUERIES], 0.1)
        weight_R *= kept
        samples_R *= kept
        figures_G[_SPAN_MS] *= kept


@njit(cache=True, inline="always")
def _learn(device: int, server: int, learned: LearnedArrays) -> None:
    """A query is done: hold its service time against its path's table."""
    observed_P, tabled_P, ratio_P, _, _, begun_factor_DC, begun_path_DC = learned
    path = begun_path_DC[device, server]
    if path >= 0:
        observed_P[path] += begun_factor_DC[device, server] - FORGETS * observed_P[path]
        tabled_P[path] += 1.0 - FORGETS * tabled_P[path]
        ratio_P[path] = (observed_P[path] + TABLE_COUNTS) / (tabled_P[path] + TABLE_COUNTS)


# The three below do as `start_waiting`, `expected_wait_ms` and `note_query` of the file on serving, and learn.
@njit(cache=True, inline="always")
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


@njit(cache=True, inline="always")
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


@njit(cache=True, inline="always")
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


@njit(cache=True)
def _charge(
    wait_ms_D: Floats,
    sla_ms: float,
    options_O: Floats,
    prices_D: tuple[Floats, Floats],
    weight: float,
    charge_D: Floats,
) -> float:
    """What device time costs a query now: the learned price, less on an idle device, more on a crowded one.

    Returns how crowded the least crowded device is: its wait as a share of the SLA, 1 at most.
    """
    price_D, crowded_D = prices_D
    wait_weight, idle_share, least, per_sla = options_O[WAIT_WEIGHT], options_O[IDLE_SHARE], 1.0, 1.0 / sla_ms
    for device in range(wait_ms_D.size):
        wait = wait_ms_D[device] * per_sla
        crowd = min(1.0, wait)
        price, crowded = price_D[device], crowded_D[device]
        charge = min(price * (idle_share + wait_weight * wait), max(crowded, price))
        charge_D[device] = max(charge, crowded * weight * crowd * crowd)
        least = min(least, crowd)
    return least


@njit(cache=True)
def _choose(
    size: int,
    sla_ms: float,
    wait_ms_D: Floats,
    charge_D: Floats,
    path_E: Ints,
    tables: tuple[Floats, Floats, Ints, Floats],
) -> tuple[int, float, int]:
    """The path that earns most of those within the SLA, -1 where none is; what the most is; the earliest of all.

    Of paths that earn the same but for a trifle the earliest is taken.
    """
    service_ms_SP, ratio_P, device_P, accuracy_P = tables
    best, earliest_ms, earliest = -np.inf, np.inf, -1
    for entry in range(path_E.size):
        path = path_E[entry]
        device = device_P[path]
        service_ms = service_ms_SP[size, path] * ratio_P[path]
        latency_ms = wait_ms_D[device] + service_ms
        gain = accuracy_P[path] * size - charge_D[device] * service_ms
        best = gain if (latency_ms <= sla_ms) & (gain > best) else best
        sooner = latency_ms < earliest_ms
        earliest_ms = latency_ms if sooner else earliest_ms
        earliest = path if sooner else earliest
    enough, best_path, best_ms = best - TRIFLE * size, -1, np.inf
    for entry in range(path_E.size):
        path = path_E[entry]
        service_ms = service_ms_SP[size, path] * ratio_P[path]
        latency_ms = wait_ms_D[device_P[path]] + service_ms
        gain = accuracy_P[path] * size - charge_D[device_P[path]] * service_ms
        better = (latency_ms <= sla_ms) & (gain >= enough) & (latency_ms < best_ms)
        best_path = path if better else best_path
        best_ms = latency_ms if better else best_ms
    return best_path, best, earliest


@njit(cache=True)
def _accepted(path: int, gain: float, earliest: int, refuses: float) -> int:
    if refuses > 0:
        return path if gain >= 0.0 else REFUSAL
    return path if path >= 0 else earliest


@njit(cache=True)
def _soonest(free_ms_C: Floats, servers: int) -> int:
    soonest = 0
    for server in range(1, servers):
        if free_ms_C[server] < free_ms_C[soonest]:
            soonest = server
    return soonest


@njit(cache=True)
def _condition(factor: float, idle_ms: float, condition_F: Floats, device: int, residual_D: Floats) -> float:
    """As the function of that name in the file on serving."""
    change = condition_F[1] if idle_ms > condition_F[0] else 1.0
    correlation, sigma = condition_F[2], condition_F[3]
    if correlation > 0.0:
        drawn, residual = np.log(factor) / sigma + sigma / 2, residual_D[device]
        if not np.isnan(residual):
            change *= np.exp(sigma * (correlation * residual + (np.sqrt(1 - correlation**2) - 1) * drawn))
            residual_D[device] = correlation * residual + np.sqrt(1 - correlation**2) * drawn
        else:
            residual_D[device] = drawn
    return float(change)


@njit(cache=True, inline="always")
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
                wait_ms_D[device] = _expected_wait_ms(device, now_ms, servers_D[device], waiting)


@njit(cache=True)
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
    spread_P, servers_D, uncertain_D = paths.spread_P, paths.servers_D, paths.uncertain_D
    service_ms_SP, device_P, ratio_P = paths.service_ms_SP, paths.device_P, market.ratio_P
    tables = (service_ms_SP, ratio_P, device_P, paths.accuracy_P)
    free_ms_DC, next_ms_D, next_server_D, clock_ms = (
        queues.free_ms_DC,
        queues.next_ms_D,
        queues.next_server_D,
        queues.clock_ms,
    )
    price_D, crowded_D, _, weight_R, samples_R, figures_G = market[:6]
    learned, waits, prices_D = market[6:], waiting[:8], (price_D, crowded_D)
    gap_N, size_N, class_N, factor_KN, arrival_ms_N, start_ms_N, service_ms_N, _, path_N = chunk
    conditions_PF = paths.conditions_PF
    wait_ms_D, charge_D, sla_ms_C = np.zeros(servers_D.size), np.zeros(servers_D.size), limit_ms_CE[:, 0].copy()
    now_ms, crowd, crowd_rate = clock_ms[0], figures_G[_CROWD], 4.0 / options_O[MEMORY_QUERIES]
    estimates = uncertain_D.any()
    for query in range(count):
        gap, size, class_ = gap_N[query] * gap_ms, size_N[query], class_N[query]
        now_ms += gap
        row = class_ * SIZE_BINS + _bin(size)
        weight_R[row] += 1.0
        samples_R[row] += size
        figures_G[_SPAN_MS] += gap
        figures_G[_SINCE] += 1.0
        if figures_G[_SINCE] >= figures_G[_EVERY]:
            _renew(options_O, market, sla_ms_C, tables, servers_D)
        for device in range(servers_D.size):
            wait_ms_D[device] = max(0.0, next_ms_D[device] - now_ms)
        if estimates:
            _look(now_ms, servers_D, uncertain_D, waits, learned, wait_ms_D)
        weight = min(options_O[CROWD_WEIGHT] * crowd, 1.0)
        crowd += (_charge(wait_ms_D, sla_ms_C[class_], options_O, prices_D, weight, charge_D) - crowd) * crowd_rate
        path, gain, earliest = _choose(size, sla_ms_C[class_], wait_ms_D, charge_D, path_E, tables)
        path = _accepted(path, gain, earliest, options_O[REFUSES])
        arrival_ms_N[query], start_ms_N[query], service_ms_N[query], path_N[query] = now_ms, now_ms, 0.0, path
        if path < 0:
            continue
        device, factor = device_P[path], factor_KN[spread_P[path], query]
        start_ms, server = max(now_ms, next_ms_D[device]), next_server_D[device]
        if conditions_PF.size:
            idle_ms = start_ms - next_ms_D[device]
            factor *= _condition(factor, idle_ms, conditions_PF[path], device, queues.residual_D)
        service_ms = service_ms_SP[size, path] * factor
        if uncertain_D[device]:
            mean_ms = service_ms_SP[size, path] * ratio_P[path]
            _note_query((device, server, path), now_ms, start_ms, mean_ms, factor, waits, learned)
        free_ms_DC[device, server] = start_ms + service_ms
        if servers_D[device] > 1:
            next_server_D[device] = _soonest(free_ms_DC[device], servers_D[device])
        next_ms_D[device] = free_ms_DC[device, next_server_D[device]]
        start_ms_N[query], service_ms_N[query] = start_ms, service_ms
    clock_ms[0], figures_G[_CROWD] = now_ms, crowd


@njit(cache=True)
def note_mix(chunk: Chunk, first: int, end: int, gap_ms: float, market: Market) -> None:
    """Add queries to the mix that prices are made for, for a loop that does not do so itself."""
    weight_R, samples_R, figures_G = market.weight_R, market.samples_R, market.figures_G
    for query in range(first, end):
        row = chunk.class_N[query] * SIZE_BINS + _bin(chunk.size_N[query])
        weight_R[row] += 1.0
        samples_R[row] += chunk.size_N[query]
        figures_G[_SPAN_MS] += chunk.gap_N[query] * gap_ms
        figures_G[_SINCE] += 1.0


@njit(cache=True)
def renew_prices(rule: Rule, paths: PathArrays, market: Market) -> None:
    """Prices of the mix as it is now."""
    tables = (paths.service_ms_SP, market.ratio_P, paths.device_P, paths.accuracy_P)
    _renew(rule.options_O, market, rule.limit_ms_CE[:, 0].copy(), tables, paths.servers_D)


def until_renewal(market: Market) -> int:
    """How many queries have to be added to the mix before prices are due."""
    return int(market.figures_G[_EVERY] - market.figures_G[_SINCE])
