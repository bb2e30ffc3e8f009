"""Every compiled function of the package, in one file: numba's disk cache does not see a change in a callee of another.

All state is in arrays passed in, nothing is kept between calls, and sums continue where the last chunk left them, so
that the chunk size changes no bit of a result. Kinds of rule are chosen by integer id.

Shape suffixes: P paths, D devices, C servers of the widest device, S sizes (0..maximum), K spreads, N queries of a
chunk, E entries of a rule, R rows of the fluid bound, B histogram bins, W places of a device's ring of waiting queries.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "BINS",
    "BINS_PER_OCTAVE",
    "FIXED",
    "LOWEST_OCTAVE",
    "MOST_WAITING",
    "SIZE_CLASSES",
    "TIERED",
    "Chunk",
    "PathArrays",
    "Queues",
    "Rule",
    "Totals",
    "Waiting",
    "account_chunk",
    "dual_gradient",
    "dual_sum_chunk",
    "expected_wait_ms",
    "least_cost",
    "note_query",
    "serve_chunk",
    "start_waiting",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Ids of the built-in kinds of rule.
FIXED, TIERED = 0, 1

# The log histogram: 128 bins per octave are at most 0.79 % wide, so a bin's middle is within 0.4 % of what fell in.
BINS_PER_OCTAVE = 128
_MANTISSA_SHIFT = 52 - 7
LOWEST_OCTAVE, _OCTAVES = -20, 64
BINS = _OCTAVES * BINS_PER_OCTAVE
_FIRST_BIN = (1023 + LOWEST_OCTAVE) * BINS_PER_OCTAVE

# Size class c holds the sizes in [2^c, 2^(c+1)).
SIZE_CLASSES = 32

# Queries that a device's queue keeps apart while they wait; those beyond count with the last of them.
MOST_WAITING = 4096

# Rows of `Totals.counts` and `Totals.sums`.
COUNTED, VIOLATIONS, SAMPLES, EXTRAPOLATED, ARRIVED = 0, 1, 2, 3, 4
CORRECT, CORRECT_IN_SLA, WAIT_MS, LATENCY_MS, FIRST_MS, LAST_FINISH_MS = 0, 1, 2, 3, 4, 5


class PathArrays(NamedTuple):
    """Paths and devices as arrays. `spread_P` is a path's row of the chunk's factors; its table holds [first, last].

    `uncertain_D` is 1 for devices with a path whose service times scatter.
    """

    service_ms_SP: Floats
    device_P: Ints
    spread_P: Ints
    accuracy_P: Floats
    first_size_P: Ints
    last_size_P: Ints
    servers_D: Ints
    uncertain_D: Ints


class Rule(NamedTuple):
    """A compiled policy. `FIXED`: the first entry, always. `TIERED`: entries by tier, the most wanted first.

    An entry passes when expected backlog + service <= `limit_ms` and size >= `rate_per_ms` x service. Of the first tier
    with an entry that passes, the one with the earliest expected completion is taken; the last tier should always pass.
    """

    kind: int
    path_E: Ints
    tier_E: Ints
    limit_ms_E: Floats
    rate_per_ms_E: Floats


class Queues(NamedTuple):
    """When each server is free, and per device the next free server; `clock_ms` holds the last scheduled arrival."""

    free_ms_DC: Floats
    next_ms_D: Floats
    next_server_D: Ints
    busy_ms_D: Floats
    clock_ms: Floats


class Waiting(NamedTuple):
    """What a router knows of uncertain devices: mean service of the queries that wait, and of those under way.

    Waiting queries are in a ring per device (first at `first_D`, `count_D` of them) with their mean service, the start
    that they will turn out to have, which is read only once it has come, and the server. `work_ms_D` is the sum of the
    means. Of a query under way the start and mean are known, not the service time.
    """

    first_D: Ints
    count_D: Ints
    work_ms_D: Floats
    start_ms_DW: Floats
    mean_ms_DW: Floats
    server_DW: Ints
    under_way_start_ms_DC: Floats
    under_way_mean_ms_DC: Floats


# `Waiting` as bare arrays.
WaitingArrays: TypeAlias = tuple[Ints, Ints, Floats, Floats, Floats, Ints, Floats, Floats]


class Chunk(NamedTuple):
    """Queries of one chunk: what was drawn (unit-rate gaps, sizes, factors), and what became of them."""

    gap_N: Floats
    size_N: Ints
    factor_KN: Floats
    arrival_ms_N: Floats
    start_ms_N: Floats
    service_ms_N: Floats
    path_N: Ints


class Totals(NamedTuple):
    """What is added up over the counted queries; `exact_ms` keeps the first latencies, as many as it holds."""

    counts: Ints
    sums: Floats
    by_class_PC: Ints
    histogram_B: Ints
    exact_ms: Floats


# Helpers take bare arrays, unpacked once per chunk: taking one out of a tuple costs a reference count per query.
@njit(cache=True)
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


@njit(cache=True)
def _soonest(free_ms_C: Floats, servers: int) -> int:
    soonest = 0
    for server in range(1, servers):
        if free_ms_C[server] < free_ms_C[soonest]:
            soonest = server
    return soonest


@njit(cache=True, inline="always")
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


@njit(cache=True, inline="always")
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


@njit(cache=True, inline="always")
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


@njit(cache=True)
def serve_chunk(
    chunk: Chunk, count: int, gap_ms: float, rule: Rule, paths: PathArrays, queues: Queues, waiting: Waiting
) -> None:
    """Route and serve the first `count` queries of the chunk; fills its arrival, start, service and path.

    First come first served: queries come in order of arrival, and each takes the server that is free first. Routing
    sees which servers are idle and the mean service of all else; where service does not scatter, that is what it takes.
    """
    kind, path_E, tier_E, limit_ms_E, rate_per_ms_E = rule
    service_ms_SP, device_P, spread_P, servers_D = paths.service_ms_SP, paths.device_P, paths.spread_P, paths.servers_D
    free_ms_DC, next_ms_D, next_server_D, busy_ms_D, clock_ms = queues
    first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, under_way_start_ms_DC, under_way_mean_ms_DC = (
        waiting
    )
    gap_N, size_N, factor_KN, arrival_ms_N, start_ms_N, service_ms_N, path_N = chunk
    device_E, uncertain_D = device_P[path_E], paths.uncertain_D
    estimates = kind == TIERED and uncertain_D.any()
    expected_ms_D = next_ms_D.copy() if estimates else next_ms_D
    now_ms = clock_ms[0]
    for query in range(count):
        now_ms += gap_N[query] * gap_ms
        size = size_N[query]
        path = path_E[0]
        if estimates:
            for device in range(servers_D.size):
                expected_ms_D[device] = next_ms_D[device]
                if not uncertain_D[device]:
                    continue
                if count_D[device] > 0:
                    start_waiting(
                        device,
                        now_ms,
                        (
                            first_D,
                            count_D,
                            work_ms_D,
                            start_ms_DW,
                            mean_ms_DW,
                            server_DW,
                            under_way_start_ms_DC,
                            under_way_mean_ms_DC,
                        ),
                    )
                if next_ms_D[device] > now_ms:
                    expected_ms_D[device] = now_ms + expected_wait_ms(
                        device,
                        now_ms,
                        servers_D[device],
                        (
                            first_D,
                            count_D,
                            work_ms_D,
                            start_ms_DW,
                            mean_ms_DW,
                            server_DW,
                            under_way_start_ms_DC,
                            under_way_mean_ms_DC,
                        ),
                    )
        if kind == TIERED:
            path = _first_tier(
                (path_E, device_E, tier_E, limit_ms_E, rate_per_ms_E), size, now_ms, expected_ms_D, service_ms_SP[size]
            )
        device = device_P[path]
        service_ms = service_ms_SP[size, path] * factor_KN[spread_P[path], query]
        start_ms = max(now_ms, next_ms_D[device])
        busy_ms_D[device] += service_ms
        if estimates and uncertain_D[device]:
            note_query(
                device,
                next_server_D[device],
                now_ms,
                start_ms,
                service_ms_SP[size, path],
                (
                    first_D,
                    count_D,
                    work_ms_D,
                    start_ms_DW,
                    mean_ms_DW,
                    server_DW,
                    under_way_start_ms_DC,
                    under_way_mean_ms_DC,
                ),
            )
        if servers_D[device] == 1:
            next_ms_D[device] = start_ms + service_ms
        else:
            free_ms_DC[device, next_server_D[device]] = start_ms + service_ms
            next_server_D[device] = _soonest(free_ms_DC[device], servers_D[device])
            next_ms_D[device] = free_ms_DC[device, next_server_D[device]]
        arrival_ms_N[query] = now_ms
        start_ms_N[query] = start_ms
        service_ms_N[query] = service_ms
        path_N[query] = path
    clock_ms[0] = now_ms


@njit(cache=True)
def account_chunk(chunk: Chunk, count: int, warmup: int, sla_ms: float, paths: PathArrays, totals: Totals) -> None:
    """Add up the chunk's queries, all but the first `warmup` of the run. Latency counts from the scheduled arrival."""
    counts, sums = totals.counts, totals.sums
    latency_1 = np.empty(1)
    bits_1 = latency_1.view(np.int64)
    for query in range(count):
        sums[LAST_FINISH_MS] = max(sums[LAST_FINISH_MS], chunk.start_ms_N[query] + chunk.service_ms_N[query])
        counts[ARRIVED] += 1
        if counts[ARRIVED] <= warmup:
            continue
        size, path = chunk.size_N[query], chunk.path_N[query]
        # The wait first: an idle server serves in exactly the service time, however late the hour.
        wait_ms = chunk.start_ms_N[query] - chunk.arrival_ms_N[query]
        latency_ms = wait_ms + chunk.service_ms_N[query]
        if counts[COUNTED] == 0:
            sums[FIRST_MS] = chunk.arrival_ms_N[query]
        if counts[COUNTED] < totals.exact_ms.size:
            totals.exact_ms[counts[COUNTED]] = latency_ms
        latency_1[0] = latency_ms
        bin_ = (bits_1[0] >> _MANTISSA_SHIFT) - _FIRST_BIN
        totals.histogram_B[min(max(bin_, 0), BINS - 1)] += 1
        size_class, rest = 0, size >> 1
        while rest > 0:
            size_class, rest = size_class + 1, rest >> 1
        totals.by_class_PC[path, size_class] += 1
        correct = paths.accuracy_P[path] * size
        counts[COUNTED] += 1
        counts[SAMPLES] += size
        sums[CORRECT] += correct
        sums[WAIT_MS] += wait_ms
        sums[LATENCY_MS] += latency_ms
        if latency_ms > sla_ms:
            counts[VIOLATIONS] += 1
        else:
            sums[CORRECT_IN_SLA] += correct
        if size < paths.first_size_P[path] or size > paths.last_size_P[path]:
            counts[EXTRAPOLATED] += 1


@njit(cache=True)
def dual_sum_chunk(
    chunk: Chunk, count: int, skip: int, sla_ms: float, prices_D: Floats, paths: PathArrays, total: Floats
) -> None:
    """Add each query's best gain, `max(0, over paths: correct - price of its device time)`, to `total[0]`."""
    service_ms_SP, spread_P, accuracy_P = paths.service_ms_SP, paths.spread_P, paths.accuracy_P
    size_N, factor_KN, price_P = chunk.size_N, chunk.factor_KN, prices_D[paths.device_P]
    for query in range(skip, count):
        size = size_N[query]
        best = 0.0
        for path in range(price_P.size):
            service_ms = service_ms_SP[size, path] * factor_KN[spread_P[path], query]
            gain = accuracy_P[path] * size - price_P[path] * service_ms
            best = gain if (service_ms <= sla_ms) & (gain > best) else best
        total[0] += best


@njit(cache=True)
def dual_gradient(
    weight_R: Floats, worth_RP: Floats, service_ms_RP: Floats, device_P: Ints, prices_D: Floats, used_ms_D: Floats
) -> float:
    """The sum over rows of `weight x max(0, worth - price x service)`; `used_ms_D` receives the device time it takes.

    A path that a row cannot take has infinite service time.
    """
    total = 0.0
    used_ms_D[:] = 0.0
    for row in range(weight_R.size):
        best, best_path = 0.0, -1
        for path in range(device_P.size):
            if service_ms_RP[row, path] == np.inf:
                continue
            gain = worth_RP[row, path] - prices_D[device_P[path]] * service_ms_RP[row, path]
            if gain > best:
                best, best_path = gain, path
        if best_path >= 0:
            total += weight_R[row] * best
            used_ms_D[device_P[best_path]] += weight_R[row] * service_ms_RP[row, best_path]
    return total


@njit(cache=True)
def least_cost(weight_R: Floats, service_ms_RP: Floats, device_P: Ints, prices_D: Floats, used_ms_D: Floats) -> float:
    """The sum over rows of `weight x min over paths of price x service`; `used_ms_D` receives the device time."""
    total = 0.0
    used_ms_D[:] = 0.0
    for row in range(weight_R.size):
        best, best_path = np.inf, 0
        for path in range(device_P.size):
            cost = prices_D[device_P[path]] * service_ms_RP[row, path]
            if cost < best:
                best, best_path = cost, path
        total += weight_R[row] * best
        used_ms_D[device_P[best_path]] += weight_R[row] * service_ms_RP[row, best_path]
    return total
