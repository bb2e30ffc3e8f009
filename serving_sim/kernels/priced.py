"""Routing by prices of device time that are learned as queries come, and first-come-first-served queues.

A query takes the path that earns most: correct predictions less the price of its device time (see `prices`).

Shape suffixes as in `arrays`; R rows (class x bin of sizes), G figures, O options.
"""

import numpy as np

from serving_sim.kernels.arrays import REFUSAL, Chunk, Floats, Ints, PathArrays, Queues, Rule, Waiting
from serving_sim.kernels.compiled import compiled_borrowing, compiled_helper
from serving_sim.kernels.conditions import condition_on
from serving_sim.kernels.earning import charge_blocking, charge_devices, note_rests, pick, weigh_paths
from serving_sim.kernels.learning import look, note_priced_query
from serving_sim.kernels.market import CROWD, CROWD_WEIGHT, LOSSES, LOST, MEMORY_QUERIES, REFUSES, TRIFLE, Market
from serving_sim.kernels.prices import add_to_mix, renew

__all__ = ["serve_priced"]


@compiled_borrowing
def _accepted(path: int, gain: float, earliest: int, refuses: float) -> int:
    if refuses > 0:
        return path if gain >= 0.0 else REFUSAL
    return path if path >= 0 else earliest


@compiled_borrowing
def _occupy(
    device: int, until_ms: float, servers_D: Ints, free_ms_DC: Floats, next_ms_D: Floats, next_server_D: Ints
) -> None:
    """Keep the device's next server busy."""
    free_ms_DC[device, next_server_D[device]] = until_ms
    soonest = 0
    for server in range(1, servers_D[device]):
        if free_ms_DC[device, server] < free_ms_DC[device, soonest]:
            soonest = server
    next_server_D[device], next_ms_D[device] = soonest, free_ms_DC[device, soonest]


@compiled_helper
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
    _, path_E, _, _, _, options_O, chance_PG = rule
    service_ms_SP, device_P, spread_P, accuracy_P, _, _, servers_D, uncertain_D, conditions_PF = paths
    free_ms_DC, next_ms_D, next_server_D, _, clock_ms, residual_D = queues
    price_D, crowded_D, _, weight_R, samples_R, figures_G = market[:6]
    observed_P, tabled_P, ratio_P, factor_DW, path_DW, begun_factor_DC, begun_path_DC, room = market[6:]
    learned = (observed_P, tabled_P, ratio_P, factor_DW, path_DW, begun_factor_DC, begun_path_DC)
    first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, begun_ms_DC, begun_mean_ms_DC = waiting
    ring = (first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, begun_ms_DC, begun_mean_ms_DC)
    gap_N, size_N, class_N, factor_KN, arrival_ms_N, start_ms_N, service_ms_N, _, path_N = chunk
    tables = (service_ms_SP, ratio_P, device_P, accuracy_P, chance_PG)
    least_ms_D, rest_ms_DC = room.least_ms_D, room.rest_ms_DC
    wait_ms_D, charge_D, estimates = np.zeros(servers_D.size), np.zeros(servers_D.size), uncertain_D.any()
    sla_ms_C, weighed_E = rule.limit_ms_CE[:, 0].copy(), (np.zeros(path_E.size), np.zeros(path_E.size))
    now_ms, crowd, lost, lost_rate = clock_ms[0], figures_G[CROWD], figures_G[LOST], 1.0 / options_O[MEMORY_QUERIES]
    crowd_rate, losses = 4.0 * lost_rate, room.figures_F[LOSSES]
    for query in range(count):
        gap, size, class_ = gap_N[query] * gap_ms, size_N[query], class_N[query]
        now_ms += gap
        if add_to_mix(class_, size, gap, weight_R, samples_R, figures_G):
            figures_G[LOST] = lost
            renew(options_O, market, sla_ms_C, tables, servers_D)
            losses = room.figures_F[LOSSES]
        for device in range(servers_D.size):
            wait_ms_D[device] = max(0.0, next_ms_D[device] - now_ms)
        if estimates:
            look(now_ms, servers_D, uncertain_D, ring, learned, wait_ms_D)
        weight, sla_ms = min(options_O[CROWD_WEIGHT] * crowd, 1.0), sla_ms_C[class_]
        crowd += (
            charge_devices(wait_ms_D, options_O, price_D, crowded_D, weight, losses, charge_D) - crowd
        ) * crowd_rate
        best, best_long, earliest = weigh_paths(
            (size, sla_ms), wait_ms_D, charge_D, least_ms_D, path_E, tables, weighed_E
        )
        if best_long > -np.inf and best_long >= best - TRIFLE * size:
            note_rests(now_ms, free_ms_DC, wait_ms_D, servers_D, uncertain_D, begun_ms_DC, begun_mean_ms_DC, rest_ms_DC)
            best = charge_blocking((size, weight), best, wait_ms_D, servers_D, path_E, tables, weighed_E, room)
        lost += ((size if best < 0.0 else 0.0) - lost) * lost_rate
        path = _accepted(pick(size, best, path_E, weighed_E), best, earliest, options_O[REFUSES])
        arrival_ms_N[query], start_ms_N[query], service_ms_N[query], path_N[query] = now_ms, now_ms, 0.0, path
        if path < 0:
            continue
        device, factor = device_P[path], factor_KN[spread_P[path], query]
        start_ms, table_ms = max(now_ms, next_ms_D[device]), service_ms_SP[size, path]
        service_ms = table_ms * factor
        if conditions_PF.size:
            idle_ms = start_ms - next_ms_D[device]
            change, added_ms, residual = condition_on(conditions_PF, path, factor, idle_ms, residual_D[device])
            service_ms, residual_D[device] = service_ms * change + added_ms, residual
            factor = factor if service_ms == table_ms * factor else service_ms / table_ms
        if uncertain_D[device]:
            server, mean_ms = next_server_D[device], table_ms * ratio_P[path]
            note_priced_query((device, server, path), now_ms, start_ms, mean_ms, factor, ring, learned)
        _occupy(device, start_ms + service_ms, servers_D, free_ms_DC, next_ms_D, next_server_D)
        start_ms_N[query], service_ms_N[query] = start_ms, service_ms
    clock_ms[0], figures_G[CROWD], figures_G[LOST] = now_ms, crowd, lost
