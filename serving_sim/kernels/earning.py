"""What a query would earn on each path: correct predictions less the price of its device time (see `prices`).

Shape suffixes as in `arrays`; O options; DC servers of a device.
"""

import numpy as np

from serving_sim.kernels.arrays import REFUSAL, Floats, Ints, PathTables
from serving_sim.kernels.blocking import blocking_cost
from serving_sim.kernels.chance import chance_in_time
from serving_sim.kernels.compiled import compiled_borrowing
from serving_sim.kernels.market import IDLE_SHARE, MOST_FOR_LOSSES, TRIFLE, URGENCY, WAIT_WEIGHT, Room

__all__ = ["charge_blocking", "charge_devices", "note_rests", "pick", "weigh_paths"]


@compiled_borrowing
def charge_devices(
    wait_ms_D: Floats,
    options_O: Floats,
    price_D: Floats,
    crowded_D: Floats,
    weight: float,
    losses: float,
    charge_D: Floats,
) -> float:
    """What device time costs a query now: the learned price, less on an idle device, more on a crowded one and where
    samples were lost lately. `weight` is that of the crowd's prices, `losses` what the losses count for.

    Returns how crowded the least crowded device is: its wait as a share of the SLA, 1 at most.
    """
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


@compiled_borrowing
def weigh_paths(
    query: tuple[int, float],
    wait_ms_D: Floats,
    charge_D: Floats,
    least_ms_D: Floats,
    path_E: Ints,
    tables: PathTables,
    weighed_E: tuple[Floats, Floats],
) -> tuple[float, float, int]:
    """When the query would be done on each path, and what it would earn there: into `weighed_E`. `query` is its size
    and SLA.

    A path earns by how likely the query is in time there; -inf where it is certain to be late. Returns the most that
    it earns on paths where it would be done by `least_ms_D`, and on others, where it may block those who come; and the
    earliest path of all.
    """
    (size, sla_ms), (latency_ms_E, gain_E) = query, weighed_E
    service_ms_SP, ratio_P, device_P, accuracy_P, chance_PG = tables
    best_short, best_long, earliest_ms, earliest = -np.inf, -np.inf, np.inf, REFUSAL
    for entry in range(path_E.size):
        path = path_E[entry]
        device = device_P[path]
        service_ms = service_ms_SP[size, path] * ratio_P[path]
        latency_ms = wait_ms_D[device] + service_ms
        chance = chance_in_time(path, latency_ms, service_ms, sla_ms, chance_PG)
        gain = accuracy_P[path] * size * chance - charge_D[device] * service_ms if chance > 0.0 else -np.inf
        latency_ms_E[entry], gain_E[entry] = latency_ms, gain
        is_short = latency_ms <= least_ms_D[device]
        best_short = gain if is_short & (gain > best_short) else best_short
        best_long = gain if (not is_short) & (gain > best_long) else best_long
        sooner = latency_ms < earliest_ms
        earliest_ms = latency_ms if sooner else earliest_ms
        earliest = path if sooner else earliest
    return best_short, best_long, earliest


@compiled_borrowing
def note_rests(
    now_ms: float,
    free_ms_DC: Floats,
    wait_ms_D: Floats,
    servers_D: Ints,
    uncertain_D: Ints,
    begun_ms_DC: Floats,
    begun_mean_ms_DC: Floats,
    rest_ms_DC: Floats,
) -> None:
    """What is left of each server's work, as far as a router can know it."""
    for device in range(servers_D.size):
        least_ms = np.inf
        for server in range(servers_D[device]):
            rest_ms = max(0.0, free_ms_DC[device, server] - now_ms)
            if uncertain_D[device] and rest_ms > 0:
                rest_ms = max(0.0, begun_ms_DC[device, server] + begun_mean_ms_DC[device, server] - now_ms)
            rest_ms_DC[device, server], least_ms = rest_ms, min(least_ms, rest_ms)
        if uncertain_D[device]:
            behind_ms = max(0.0, wait_ms_D[device] - least_ms)
            for server in range(servers_D[device]):
                rest_ms_DC[device, server] += behind_ms


@compiled_borrowing
def charge_blocking(
    query: tuple[int, float],
    best: float,
    wait_ms_D: Floats,
    servers_D: Ints,
    path_E: Ints,
    tables: PathTables,
    weighed_E: tuple[Floats, Floats],
    room: Room,
) -> float:
    """Take off what a service on each path that may hold the SLA costs those who come while it lasts. `query` is the
    size and the weight of the crowd's prices, `best` the most that it earns on paths that block none.

    Returns the most that it earns now. A path that would earn less than others even so is left as it is.
    """
    (size, crowded), (latency_ms_E, gain_E) = query, weighed_E
    service_ms_SP, ratio_P, device_P, _, _ = tables
    least_ms_D = room.least_ms_D
    for entry in range(path_E.size):
        path = path_E[entry]
        device = device_P[path]
        gain = gain_E[entry]
        if latency_ms_E[entry] <= least_ms_D[device] or gain == -np.inf or gain < best - TRIFLE * size:
            continue
        service_ms = service_ms_SP[size, path] * ratio_P[path]
        gain_E[entry] -= blocking_cost(device, wait_ms_D[device], service_ms, crowded, servers_D, room)
        best = max(best, gain_E[entry])
    return best


@compiled_borrowing
def pick(size: int, best: float, path_E: Ints, weighed_E: tuple[Floats, Floats]) -> int:
    """Of the paths that earn `best`, but for a trifle, the earliest; -1 where the query would be late on all."""
    (latency_ms_E, gain_E), enough = weighed_E, best - TRIFLE * size
    best_path, best_ms = REFUSAL, np.inf
    for entry in range(path_E.size):
        latency_ms = latency_ms_E[entry]
        better = (gain_E[entry] > -np.inf) & (gain_E[entry] >= enough) & (latency_ms < best_ms)
        best_path = path_E[entry] if better else best_path
        best_ms = latency_ms if better else best_ms
    return best_path
