"""Servers that go down and come back, and what becomes of the queries that they had."""

import math

import numpy as np

from serving_sim.kernels.arrays import REFUSAL, Rule
from serving_sim.kernels.compiled import compiled_within, inlined
from serving_sim.kernels.events.arrays import EventPlan, EventState, Record
from serving_sim.kernels.events.heap import schedule
from serving_sim.kernels.events.routing import earliest, route
from serving_sim.kernels.events.service import (
    BEHIND,
    MOST_CHANGES,
    SHARDS,
    WHOLE,
    begin,
    join,
    part_done,
    serve_next,
)
from serving_sim.kernels.events.waits import look

__all__ = ["await_failures", "go_down", "next_failure", "next_outage", "notice"]

# A query that lost its servers this often is given up: what takes longer than any server is up would never end.
_MOST_LOSSES = 100


@compiled_within
def _exponential(key: np.uint64, server: int, draw: int) -> float:
    """A draw of mean 1 that depends on nothing but these (SplitMix64 over a counter; Steele et al., 2014)."""
    bits = key + np.uint64(server) * np.uint64(0xD1B54A32D192ED03) + np.uint64(draw) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return -math.log1p(-float(bits >> np.uint64(11)) / 9007199254740992.0)


@compiled_within
def await_failures(plan: EventPlan, state: EventState) -> None:
    """Draw the first failures, and note the first outages."""
    servers = state.servers_V.size
    for server in range(servers):
        device = plan.devices_D[state.servers_V[server].device]
        if device.mtbf_ms < np.inf:
            lasts_ms = device.mtbf_ms * _exponential(device.key, server - device.first_server, 0)
            schedule(servers + server, lasts_ms, state)
    for place in range(plan.devices_D.size):
        device = plan.devices_D[place]
        if device.first_outage < device.end_outage:
            first_ms = plan.outages_O[device.first_outage].start_ms
            schedule(3 * servers + plan.devices_D.size + place, first_ms, state)


@compiled_within
def _give_up(query: Record, plan: EventPlan, state: EventState) -> None:
    if query.path >= 0:
        state.loop_1[0].given_up += 1
        if query.stage == SHARDS:
            queue = state.queues_D[plan.steps_X[query.path].device]
            queue.coming_ms -= plan.service_ms_SX[query.size, query.path]
    query.path = REFUSAL


@compiled_within
def _put_first(first: int, last: int, queue: Record, state: EventState) -> None:
    queue.changed = 1
    state.parts_T[last].after = queue.first
    queue.first = first
    if queue.last < 0:
        queue.last = last


@inlined
def _reassign(
    number: int, place: int, lost: int, now_ms: float, rule: Rule, plan: EventPlan, state: EventState
) -> None:
    """Route parts anew that had been on a device; those that have to stay come first there, in their order."""
    first, last, restarts, queue = -1, -1, plan.devices_D[place].restarts, state.queues_D[place]
    while number >= 0:
        part, slot = state.parts_T[number], number // plan.parts
        query, size, after = state.queries_H[slot], part.size, part.after
        query.losses += lost
        state.loop_1[0].losses += lost
        path, is_over, stays = -1, False, restarts or query.stage in (SHARDS, BEHIND)
        if query.losses > _MOST_LOSSES:
            _give_up(query, plan, state)
            is_over = True
        elif stays:
            first, part.after = number if first < 0 else first, -1
            if last >= 0:
                state.parts_T[last].after = number
            last = number
            queue.waiting += 1
            queue.work_ms += part.mean_ms
        elif query.stage == WHOLE:
            path = route(now_ms, now_ms - query.arrival_ms, size, query.class_, rule, plan, state)
            is_over = path < 0
            if is_over:
                query.path = REFUSAL
            else:
                begin(slot, path, now_ms, plan, state)
        else:
            look(now_ms, plan, state)
            path = earliest(size, rule, plan, state)
            if query.path >= 0 and plan.steps_X[path].accuracy < plan.steps_X[query.path].accuracy:
                query.path = path
            join(number, path, size, now_ms, plan, state)
        if is_over:
            part_done(number, 0.0, now_ms, plan, state)
        number = after
    if first >= 0:
        _put_first(first, last, queue, state)


@compiled_within
def go_down(place: int, now_ms: float, plan: EventPlan, state: EventState) -> None:
    """A server is down for one more reason; the router learns of the first a little later."""
    server = state.servers_V[place]
    server.down += 1
    if server.down > 1:
        return
    if server.batch >= 0:
        state.queues_D[server.device].busy_ms += now_ms - server.start_ms
        server.step = -1
        schedule(place, np.inf, state)
    schedule(2 * state.servers_V.size + place, now_ms + plan.devices_D[server.device].detection_ms, state)


@inlined
def notice(place: int, is_up: int, now_ms: float, rule: Rule, plan: EventPlan, state: EventState) -> None:
    """The router knows now that a server is down, or up again: what it lost is routed anew, and what waits for
    devices without a server, if there is any server elsewhere.
    """
    server = state.servers_V[place]
    device, lost = server.device, server.batch
    queue = state.queues_D[device]
    had = queue.known
    queue.known += is_up - server.known
    server.batch, server.known = -1, is_up
    schedule(2 * state.servers_V.size + place, np.inf, state)
    if is_up:
        server.free_ms = now_ms
        server.warm_ms = now_ms + plan.devices_D[device].warm_up_ms
    queue.changed = 1
    is_any_up = False
    for other in range(plan.devices_D.size):
        is_any_up |= state.queues_D[other].known > 0
    # One call for all, as a compiled function is copied wherever it is called.
    for turn in range(plan.devices_D.size + 1):
        part, other, losses = lost, device, 1
        if turn > 0:
            other, losses = turn - 1, 0
            queue = state.queues_D[other]
            part = queue.first
            if not is_any_up or (other != device and (not is_up or had > 0)):
                continue
            if part < 0 or queue.known > 0 or plan.devices_D[other].restarts:
                continue
            queue.first = queue.last = -1
            queue.waiting, queue.work_ms = 0, 0.0
        _reassign(part, other, losses, now_ms, rule, plan, state)
    serve_next(device, now_ms, plan, state)


@compiled_within
def next_failure(place: int, now_ms: float, plan: EventPlan, state: EventState) -> int:
    """Draw how long the server is in its next state; returns whether it is up then, -1 where it is spared."""
    server, loop = state.servers_V[place], state.loop_1[0]
    device, is_up = plan.devices_D[server.device], server.failed
    loop.changes += 1
    if loop.changes > MOST_CHANGES:
        # It is up from now on, and its repair is the last change.
        schedule(state.servers_V.size + place, np.inf, state)
        loop.spared += 1
        server.failed = 0
        return 1 if is_up else -1
    mean_ms = device.mtbf_ms if is_up else device.repair_ms
    server.drawn += 1
    server.failed = 1 - is_up
    lasts_ms = mean_ms * _exponential(device.key, place - device.first_server, server.drawn)
    schedule(state.servers_V.size + place, now_ms + lasts_ms, state)
    return int(is_up)


@compiled_within
def next_outage(place: int, plan: EventPlan, state: EventState) -> int:
    """Note when the device's outage ends, or the next begins; returns whether it is up until then."""
    queue = state.queues_D[place]
    change = queue.outage + 1
    queue.outage = change
    next_ms = np.inf
    if change < 2 * plan.devices_D[place].end_outage:
        outage = plan.outages_O[change // 2]
        next_ms = outage.end_ms if change % 2 else outage.start_ms
    schedule(3 * state.servers_V.size + plan.devices_D.size + place, next_ms, state)
    return 1 - int(change % 2)
