"""Queues, batches and services: how a query's parts join a device, start there, and end."""

import math

import numpy as np

from serving_sim.kernels.arrays import Rule
from serving_sim.kernels.compiled import compiled_within
from serving_sim.kernels.conditions import condition
from serving_sim.kernels.events.arrays import EventPlan, EventState, Record
from serving_sim.kernels.events.heap import schedule
from serving_sim.kernels.events.prices import learn
from serving_sim.kernels.events.routing import earliest
from serving_sim.kernels.events.waits import foresee_part, look

__all__ = [
    "BEHIND",
    "MOST_CHANGES",
    "PART",
    "SHARDS",
    "WHOLE",
    "begin",
    "end_service",
    "join",
    "part_done",
    "serve_next",
    "split",
]

# What a query's parts are: shards, its own service behind them, the whole query, or samples of it.
SHARDS, BEHIND, WHOLE, PART = 0, 1, 2, 3
# When none is to follow, and so many failures and repairs come while no query ends, no server fails any more: one
# service may last for longer than there is time to follow the failures of the others.
MOST_CHANGES = 100_000


@compiled_within
def _idle_server(device: Record, state: EventState) -> int:
    """Of the idle servers that are up, the one that has been idle for longest; -1 where there is none."""
    best, best_ms = -1, np.inf
    for place in range(device.first_server, device.end_server):
        server = state.servers_V[place]
        if server.batch < 0 and server.down == 0 and server.free_ms < best_ms:
            best, best_ms = place, server.free_ms
    return best


@compiled_within
def _batch_end(device: int, now_ms: float, plan: EventPlan, state: EventState) -> tuple[int, int]:
    """The last part of the batch that may start, and its samples; -1 where more are waited for."""
    last = state.queues_D[device].first
    first = state.parts_T[last]
    samples, after = first.size, first.after
    while samples < plan.full:
        if after < 0:
            due_ms = first.joined_ms + plan.wait_ms
            if now_ms < due_ms:
                schedule(3 * state.servers_V.size + device, due_ms, state)
                return -1, 0
            break
        part = state.parts_T[after]
        if part.step != first.step or samples + part.size > plan.full:
            break
        last, samples, after = after, samples + part.size, part.after
    return last, samples


@compiled_within
def _start(place: int, last: int, samples: int, now_ms: float, plan: EventPlan, state: EventState) -> None:
    """Take the parts up to `last` from the queue as one batch, whose factor is the mean of theirs by samples."""
    server = state.servers_V[place]
    queue = state.queues_D[server.device]
    first = next_part = queue.first
    number, factor = state.parts_T[first].step, 0.0
    step = plan.steps_X[number]
    queue.first, state.parts_T[last].after = state.parts_T[last].after, -1
    if queue.first < 0:
        queue.last = -1
    while next_part >= 0:
        part, slot = state.parts_T[next_part], next_part // plan.parts
        query = state.queries_H[slot]
        queue.waiting -= 1
        queue.work_ms = queue.work_ms - part.mean_ms if queue.waiting > 0 else 0.0
        factor += state.factor_KH[step.spread, slot] * (1.0 if last == first else part.size / samples)
        if query.stage == WHOLE or math.isnan(query.start_ms):
            query.start_ms = now_ms
        next_part = part.after
    mean_ms, idle_ms = plan.service_ms_SX[samples, number], now_ms - server.free_ms
    change, added_ms, queue.residual = condition(
        factor, idle_ms, step.gap_ms, step.cold, step.added_ms, step.correlation, step.sigma, queue.residual
    )
    service_ms = mean_ms * factor * change + added_ms
    if now_ms < server.warm_ms:
        service_ms *= plan.devices_D[server.device].warm_up_factor
    if plan.devices_D[server.device].learns:
        # Of the service before, as the loop for queries one by one does it.
        if server.step >= 0:
            learn(state.learned_X[server.step], server.factor)
        is_as_drawn = service_ms == mean_ms * factor
        server.step, server.factor = number, factor if is_as_drawn else service_ms / mean_ms
        mean_ms = state.parts_T[first].mean_ms
    server.batch, server.start_ms, server.mean_ms, server.service_ms = first, now_ms, mean_ms, service_ms
    schedule(place, now_ms + service_ms, state)


@compiled_within
def serve_next(device: int, now_ms: float, plan: EventPlan, state: EventState) -> None:
    """Start what may start on the device."""
    while state.queues_D[device].first >= 0:
        server = _idle_server(plan.devices_D[device], state)
        if server < 0:
            return
        last, samples = _batch_end(device, now_ms, plan, state)
        if last < 0:
            return
        _start(server, last, samples, now_ms, plan, state)


@compiled_within
def join(number: int, step: int, size: int, now_ms: float, plan: EventPlan, state: EventState) -> None:
    """A part joins the queue of the step's device."""
    place, part = plan.steps_X[step].device, state.parts_T[number]
    device, queue = plan.devices_D[place], state.queues_D[place]
    part.step, part.size, part.joined_ms, part.after = step, size, now_ms, -1
    if queue.last < 0:
        queue.first = number
    else:
        state.parts_T[queue.last].after = number
    queue.last = number
    queue.waiting += 1
    part.mean_ms = plan.joined_ms_SX[size, step] * state.learned_X[step].ratio
    queue.work_ms += part.mean_ms
    if not device.expects and not queue.changed:
        foresee_part(device, queue, plan.service_ms_SX[size, step], now_ms, state.servers_V)
    serve_next(place, now_ms, plan, state)


@compiled_within
def begin(slot: int, path: int, now_ms: float, plan: EventPlan, state: EventState) -> None:
    """The query takes the path: its shards first, where it has any."""
    query, step = state.queries_H[slot], plan.steps_X[path]
    first, count = step.first_shard, step.end_shard - step.first_shard
    query.path, query.left, query.stage = path, max(count, 1), WHOLE
    if count > 0:
        query.stage = SHARDS
        state.queues_D[step.device].coming_ms += plan.service_ms_SX[query.size, path]
    # One call for both, as a compiled function is copied wherever it is called.
    for part in range(max(count, 1)):
        join(slot * plan.parts + part, first + part if count > 0 else path, query.size, now_ms, plan, state)


@compiled_within
def split(slot: int, now_ms: float, rule: Rule, plan: EventPlan, state: EventState) -> None:
    """The query takes several paths, samples shared out evenly or by speed; it counts with the least accurate."""
    look(now_ms, plan, state)
    query, by_speed, smallest = state.queries_H[slot], rule.options_O[0] > 0, rule.options_O[1]
    size, first = query.size, earliest(query.size, rule, plan, state)
    most, down = max(1, int(size / smallest)), state.queues_D[plan.steps_X[first].device].wait_ms == np.inf
    query.stage, query.left, query.path = PART, 0, -1
    total, given = 0.0, 0
    for number in range(slot * plan.parts, (slot + 1) * plan.parts):
        state.parts_T[number].step, state.parts_T[number].size = 0, 0
    for turn in range(2):
        used, share = 0, 0.0
        for path in rule.path_E:
            if used >= most or (not down and state.queues_D[plan.steps_X[path].device].wait_ms == np.inf):
                continue
            used += 1
            share += 1.0 / plan.service_ms_SX[size, path] if by_speed else 1.0
            samples = int(size * (share / total) + 0.5) - given if turn == 1 else 0
            if samples > 0:
                if query.path < 0 or plan.steps_X[path].accuracy < plan.steps_X[query.path].accuracy:
                    query.path = path
                query.left += 1
                given += samples
                join(slot * plan.parts + query.left - 1, path, samples, now_ms, plan, state)
        total = share


@compiled_within
def part_done(number: int, service_ms: float, now_ms: float, plan: EventPlan, state: EventState) -> None:
    """The query goes on once all its parts are done. One that was given up (no path) takes no time."""
    query, loop = state.queries_H[number // plan.parts], state.loop_1[0]
    query.left -= 1
    if query.left > 0:
        return
    path = query.path
    if query.stage == SHARDS and path >= 0:
        query.stage, query.left = BEHIND, 1
        state.queues_D[plan.steps_X[path].device].coming_ms -= plan.service_ms_SX[query.size, path]
        join(number // plan.parts * plan.parts, path, query.size, now_ms, plan, state)
        return
    query.left = -1
    loop.in_system -= 1
    if loop.changes <= MOST_CHANGES:
        loop.changes = min(loop.changes, 0)
    if path < 0:
        query.start_ms, query.service_ms = query.arrival_ms, 0.0
        loop.given_up_ms = now_ms
    else:
        query.service_ms = service_ms if query.stage == WHOLE else now_ms - query.start_ms


@compiled_within
def end_service(place: int, now_ms: float, plan: EventPlan, state: EventState) -> None:
    """A server is done with its batch."""
    server = state.servers_V[place]
    part, device, service_ms = server.batch, server.device, server.service_ms
    state.queues_D[device].busy_ms += service_ms
    server.batch, server.free_ms = -1, now_ms
    schedule(place, np.inf, state)
    while part >= 0:
        after = state.parts_T[part].after
        part_done(part, service_ms, now_ms, plan, state)
        part = after
    serve_next(device, now_ms, plan, state)
