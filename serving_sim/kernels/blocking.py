"""What a long service costs those who come while it lasts: on a device first come, first served, they cannot pass it.

A query whose wait exceeds its slack (SLA less service) is lost there. So a service that ends later than the slack of
some class shuts that class out of the server, for as long as it ends later; what comes meanwhile has the other servers.

Shape suffixes as in `arrays`; K 0 at prices as learned, 1 at those of a crowd; DC servers of a device.
"""

import math

import numpy as np

from serving_sim.kernels.arrays import Floats, Ints, PathTables
from serving_sim.kernels.chance import chance_in_time
from serving_sim.kernels.compiled import compiled_borrowing, compiled_within
from serving_sim.kernels.market import LOSS_COUNTS, LOSSES, LOST, LUMP_MS, SIZE_BINS, Market, Room

__all__ = ["blocking_cost", "note_room"]

# The variance of work that comes, over that of Poisson arrivals (routing is not even), and what a loss counts for.
# Both by trial, as is the slope of the logistic curve in place of the normal one.
_UNEVENNESS, _CAUTION, _LOGISTIC = 4.0, 2.0, 1.7


@compiled_borrowing
def _best(size: int, sla_ms: float, price_D: Floats, tables: PathTables) -> float:
    """The most that a query earns at these prices, 0 where nothing."""
    service_ms_SP, ratio_P, device_P, accuracy_P, chance_PG = tables
    best = 0.0
    for path in range(device_P.size):
        service_ms = service_ms_SP[size, path] * ratio_P[path]
        worth = accuracy_P[path] * size * chance_in_time(path, service_ms, service_ms, sla_ms, chance_PG)
        best = max(best, worth - price_D[device_P[path]] * service_ms)
    return best


@compiled_borrowing
def _cheapest(size: int, price_D: Floats, tables: PathTables) -> tuple[float, float]:
    """The least that a service costs at these prices, and how long it is."""
    service_ms_SP, ratio_P, device_P, _, _ = tables
    least, least_ms = np.inf, 0.0
    for path in range(device_P.size):
        service_ms = service_ms_SP[size, path] * ratio_P[path]
        if price_D[device_P[path]] * service_ms < least:
            least, least_ms = price_D[device_P[path]] * service_ms, service_ms
    return (least, least_ms) if least < np.inf else (0.0, 0.0)


@compiled_borrowing
def _note_slack(class_: int, size: int, sla_ms: float, tables: PathTables, room: Room) -> None:
    """The wait that a query of that size bears on each device."""
    service_ms_SP, ratio_P, device_P, _, _ = tables
    slack_ms_CD, least_ms_D = room.slack_ms_CD, room.least_ms_D
    for path in range(device_P.size):
        slack_ms, device = sla_ms - service_ms_SP[size, path] * ratio_P[path], device_P[path]
        if slack_ms >= 0:
            slack_ms_CD[class_, device] = max(slack_ms_CD[class_, device], slack_ms)
    for device in range(least_ms_D.size):
        if slack_ms_CD[class_, device] >= 0:
            least_ms_D[device] = min(least_ms_D[device], slack_ms_CD[class_, device])


@compiled_within
def note_room(market: Market, span_ms: float, sla_ms_C: Floats, tables: PathTables) -> None:
    """What each class would lose per ms, its slack on each device, and what share of all work a server does."""
    weight_R, samples_R, crowded_D, room = market.weight_R, market.samples_R, market.crowded_D, market.room
    crowd_D, cost, work_ms, squares = np.maximum(market.price_D, crowded_D), 0.0, 0.0, 0.0
    room.flow_KC[:], room.slack_ms_CD[:], room.least_ms_D[:] = 0.0, -np.inf, np.inf
    for class_ in range(sla_ms_C.size):
        queries, samples = 0.0, 0.0
        for row in range(class_ * SIZE_BINS, (class_ + 1) * SIZE_BINS):
            weight = weight_R[row]
            if weight <= 0:
                continue
            size = int(samples_R[row] / weight + 0.5)
            room.flow_KC[0, class_] += weight / span_ms * _best(size, sla_ms_C[class_], market.price_D, tables)
            room.flow_KC[1, class_] += weight / span_ms * _best(size, sla_ms_C[class_], crowd_D, tables)
            least, least_ms = _cheapest(size, crowded_D, tables)
            cost, work_ms, squares = cost + weight * least, work_ms + weight * least_ms, squares + weight * least_ms**2
            queries, samples = queries + weight, samples + samples_R[row]
        if queries > 0:
            _note_slack(class_, int(samples / queries + 0.5), sla_ms_C[class_], tables, room)
    room.figures_F[LOSSES] = LOSS_COUNTS * market.figures_G[LOST] * weight_R.sum() / span_ms
    room.figures_F[LUMP_MS] = squares / work_ms if work_ms > 0 else 0.0
    for device in range(crowded_D.size):
        room.share_D[device] = crowded_D[device] * span_ms / cost if cost > 0 else 1.0


@compiled_borrowing
def _lost_while_blocked_ms(
    class_: int, device: int, before_ms: float, end_ms: float, servers_D: Ints, room: Room
) -> float:
    """Of the time from `before_ms` to `end_ms` after the slack, in which the device's next server is shut to the
    class, that for which the others cannot hold it either: what is certain, then what is likely of work that comes
    (backlog as Brownian motion).
    """
    _, slack_ms_CD, _, share_D, figures_F, rest_ms_DC = room
    next_server = 0
    for server in range(1, servers_D[device]):
        if rest_ms_DC[device, server] < rest_ms_DC[device, next_server]:
            next_server = server
    served, lead_ms, open_servers, blocked_ms = 0.0, np.inf, 0.0, end_ms - before_ms
    for other in range(servers_D.size):
        if slack_ms_CD[class_, other] < 0:
            continue
        for server in range(servers_D[other]):
            if other == device and server == next_server:
                continue
            over_ms = rest_ms_DC[other, server] - slack_ms_CD[class_, other]
            share = 1.0 - min(max(0.0, over_ms - before_ms) / blocked_ms, 1.0)
            lead_ms, served, open_servers = min(lead_ms, over_ms), served + share_D[other] * share, open_servers + share
    if served <= 0:
        return blocked_ms
    certain_ms = max(0.0, min(lead_ms, end_ms) - before_ms)
    left_ms = blocked_ms - certain_ms
    if left_ms <= 0:
        return certain_ms
    offered = 1.0 / served
    deviation_ms = math.sqrt(_UNEVENNESS * offered * figures_F[LUMP_MS] / open_servers * left_ms)
    z = (min(lead_ms, 0.0) + (offered - 1.0) * left_ms) / deviation_ms
    return certain_ms + left_ms / (1.0 + math.exp(-_LOGISTIC * max(min(z, 20.0), -20.0)))


@compiled_borrowing
def blocking_cost(device: int, wait_ms: float, service_ms: float, crowded: float, servers_D: Ints, room: Room) -> float:
    """Correct predictions that a service on the device is expected to cost those who come while it lasts.

    `crowded` is the weight of the crowd's prices; `room.rest_ms_DC` has to hold what is left of each server's work.
    """
    cost = 0.0
    for class_ in range(room.slack_ms_CD.shape[0]):
        slack_ms = room.slack_ms_CD[class_, device]
        end_ms = wait_ms + service_ms - slack_ms
        if slack_ms < 0 or not 0 < end_ms < np.inf:
            continue
        flow = (1.0 - crowded) * room.flow_KC[0, class_] + crowded * room.flow_KC[1, class_]
        if flow > 0:
            before_ms = max(0.0, wait_ms - slack_ms)
            cost += flow * _lost_while_blocked_ms(class_, device, before_ms, end_ms, servers_D, room)
    return _CAUTION * cost
