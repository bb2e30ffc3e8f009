"""Routing by prices of device time, as the loop for queries one by one does it; shards are charged too."""

import numpy as np

from serving_sim.kernels.arrays import REFUSAL, Floats, Ints, Rule
from serving_sim.kernels.blocking import blocking_cost
from serving_sim.kernels.chance import chance_in_time
from serving_sim.kernels.compiled import compiled_within
from serving_sim.kernels.events.arrays import EventPlan, EventState, Record
from serving_sim.kernels.market import (
    CROWD_WEIGHT,
    FORGETS,
    IDLE_SHARE,
    LOSSES,
    MEMORY_QUERIES,
    MOST_FOR_LOSSES,
    REFUSES,
    TABLE_COUNTS,
    TRIFLE,
    URGENCY,
    WAIT_WEIGHT,
)

__all__ = ["learn", "route_by_price"]


@compiled_within
def _long_wait_ms(queue: Record) -> float:
    """The wait for those that come after all that is under way, behind shards too."""
    return float(queue.wait_ms + max(0.0, queue.coming_ms) / max(1, queue.known))


@compiled_within
def _charge(rule: Rule, state: EventState) -> float:
    """Set what device time costs, as that function of the file on prices; how crowded the least crowded device is."""
    options_O, least, per_sla = rule.options_O, 1.0, rule.options_O[URGENCY]
    weight = min(options_O[CROWD_WEIGHT] * state.loop_1[0].crowd, 1.0)
    losses = state.room.figures_F[LOSSES]
    for device in range(state.queues_D.size):
        # Where all servers are down nothing is charged, as no query is done in time there.
        queue = state.queues_D[device]
        wait_ms = _long_wait_ms(queue)
        wait = wait_ms * per_sla if wait_ms < np.inf else 0.0
        crowd = min(1.0, wait)
        price, crowded = queue.price, queue.crowded
        charge = price * (options_O[IDLE_SHARE] + options_O[WAIT_WEIGHT] * wait)
        charge = min(charge + min(losses, MOST_FOR_LOSSES * crowded), max(crowded, price))
        queue.charge = max(charge, crowded * weight * crowd * crowd)
        least = min(least, 1.0 if wait_ms == np.inf else crowd)
    return least


@compiled_within
def _note_rests(now_ms: float, plan: EventPlan, state: EventState) -> Ints:
    """What is left of each server's work, as far as a router can know it; how many servers a device has."""
    rest_ms_DC, servers_D = state.room.rest_ms_DC, np.empty(plan.devices_D.size, dtype=np.int64)
    for place in range(plan.devices_D.size):
        device, least_ms = plan.devices_D[place], np.inf
        servers_D[place] = device.end_server - device.first_server
        for number in range(servers_D[place]):
            server = state.servers_V[device.first_server + number]
            rest_ms = max(0.0, server.foreseen_ms - now_ms)
            if device.expects:
                rest_ms = max(0.0, server.start_ms + server.mean_ms - now_ms) if server.batch >= 0 else 0.0
            rest_ms_DC[place, number] = rest_ms if server.known else np.inf
            least_ms = min(least_ms, rest_ms_DC[place, number])
        if device.expects and least_ms < np.inf:
            rest_ms_DC[place] += max(0.0, _long_wait_ms(state.queues_D[place]) - least_ms)
    return servers_D


@compiled_within
def _price(
    query: tuple[int, float, float],
    path: int,
    servers_D: Ints,
    chance_PG: Floats,
    plan: EventPlan,
    state: EventState,
) -> tuple[float, float]:
    """When the query would be done on the path, and what it would earn there, -inf where it is certain to be late.
    `query` is its size, what is left of its SLA and the weight of the crowd's prices.
    """
    size, left_ms, crowded = query
    step = plan.steps_X[path]
    queue, service_ms = state.queues_D[step.device], plan.service_ms_SX[size, path] * state.learned_X[path].ratio
    own_ms, price = _long_wait_ms(queue), queue.charge * service_ms
    wait_ms = own_ms
    for shard in range(step.first_shard, step.end_shard):
        queue = state.queues_D[plan.steps_X[shard].device]
        shard_ms = plan.service_ms_SX[size, shard] * state.learned_X[shard].ratio
        wait_ms = max(wait_ms, _long_wait_ms(queue) + shard_ms)
        price += queue.charge * shard_ms
    chance = chance_in_time(path, wait_ms + service_ms, service_ms, left_ms, chance_PG)
    if chance <= 0.0:
        return wait_ms + service_ms, -np.inf
    gain = step.accuracy * size * chance - price
    if own_ms + service_ms > state.room.least_ms_D[step.device]:
        gain -= blocking_cost(step.device, own_ms, service_ms, crowded, servers_D, state.room)
    return wait_ms + service_ms, gain


@compiled_within
def route_by_price(
    now_ms: float, waited_ms: float, size: int, class_: int, rule: Rule, plan: EventPlan, state: EventState
) -> tuple[int, bool]:
    """The path that earns most of those that may hold what is left of the SLA; where there is none, -1, or with
    refusals off the path on which the query would be done first. Then whether -1 refuses the query, rather than that
    all are down.
    """
    sla_ms, loop = rule.limit_ms_CE[class_, 0], state.loop_1[0]
    crowded = min(rule.options_O[CROWD_WEIGHT] * loop.crowd, 1.0)
    least, servers_D = _charge(rule, state), _note_rests(now_ms, plan, state)
    if waited_ms == 0.0:
        loop.crowd += (least - loop.crowd) * (4.0 * (1.0 / rule.options_O[MEMORY_QUERIES]))
    query = size, sla_ms - waited_ms, crowded
    best, best_path, best_ms, enough = -np.inf, REFUSAL, np.inf, np.inf
    first_path, first_ms = REFUSAL, np.inf
    for turn in range(2):
        for path in rule.path_E:
            latency_ms, gain = _price(query, path, servers_D, rule.chance_PG, plan, state)
            if latency_ms < first_ms:
                first_path, first_ms = path, latency_ms
            if turn == 0:
                best = max(best, gain)
            elif gain > -np.inf and gain >= enough and latency_ms < best_ms:
                best_path, best_ms = path, latency_ms
        enough = best - TRIFLE * size
    if waited_ms == 0.0:
        loop.lost += ((size if best < 0.0 else 0.0) - loop.lost) * (1.0 / rule.options_O[MEMORY_QUERIES])
    if rule.options_O[REFUSES] > 0:
        return best_path if best >= 0.0 else REFUSAL, True
    return best_path if best_path >= 0 else first_path, False


@compiled_within
def learn(learned: Record, factor: float) -> None:
    """A step of service is done: hold its time against its table."""
    learned.observed += factor - FORGETS * learned.observed
    learned.tabled += 1.0 - FORGETS * learned.tabled
    learned.ratio = (learned.observed + TABLE_COUNTS) / (learned.tabled + TABLE_COUNTS)
