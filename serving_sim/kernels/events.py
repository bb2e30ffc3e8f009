"""The general loop, by events: batches, queries in parts, shards, servers that fail and come back.

Events come by time, those of one time by source (see `event_arrays`), so that the order is total. On plans that the
other loops serve, this one gives the same, bit for bit, as long as no more than `MOST_WAITING` queries wait. It is
told of a server's end of service only when it is there: routing sees what a router could know.

Queries are handed out in the order of arrival, once all before them are done. One that finds no place is refused, and
handed out at once. All of it is in one file, as compiled functions call none of another.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit

from serving_sim.kernels.arrays import FIXED, PRICED, REFUSAL, SPLIT, Chunk, Floats, Queues, Rule
from serving_sim.kernels.event_arrays import (
    CHANGES,
    GIVEN_UP,
    IN_SYSTEM,
    LOSSES,
    NEXT,
    OLDEST,
    OVERFLOW,
    SPARED,
    EventPlan,
    EventState,
)
from serving_sim.kernels.market import (
    CROWD_WEIGHT,
    FORGETS,
    IDLE_SHARE,
    MEMORY_QUERIES,
    REFUSES,
    TABLE_COUNTS,
    TRIFLE,
    WAIT_WEIGHT,
)

__all__ = ["serve_events", "start_events"]

_Compiled = TypeVar("_Compiled", bound=Callable[..., Any])

# Functions that only compiled ones call: without a way in from Python they compile in less time.
_inner: Callable[[_Compiled], _Compiled] = njit(  # type: ignore[call-overload]  # numba takes more than its stubs say.
    cache=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)

# What a query's parts are: shards, its own service behind them, the whole query, or samples of it.
_SHARDS, _BEHIND, _WHOLE, _PART = 0, 1, 2, 3
# A query that lost its servers this often is given up: what takes longer than any server is up would never end.
_MOST_LOSSES = 100
# When none is to follow, and so many failures and repairs come while no query ends, no server fails any more: one
# service may last for longer than there is time to follow the failures of the others.
_MOST_CHANGES = 100_000


@_inner
def _is_sooner(one: int, other: int, time_ms_S: Floats) -> bool:
    return time_ms_S[one] < time_ms_S[other] or (time_ms_S[one] == time_ms_S[other] and one < other)


@_inner
def _schedule(source: int, time_ms: float, state: EventState) -> None:
    """Move the source's event to that time; infinite: it has none."""
    heap_S, place_S, time_ms_S, events_1 = state.heap_S, state.place_S, state.time_ms_S, state.events_1
    place = place_S[source]
    time_ms_S[source] = time_ms
    if place < 0:
        if time_ms == np.inf:
            return
        place = events_1[0]
        events_1[0] += 1
    elif time_ms == np.inf:
        place_S[source] = -1
        events_1[0] -= 1
        if place == events_1[0]:
            return
        source = heap_S[events_1[0]]
    while place > 0 and _is_sooner(source, heap_S[(place - 1) // 2], time_ms_S):
        heap_S[place] = heap_S[(place - 1) // 2]
        place_S[heap_S[place]] = place
        place = (place - 1) // 2
    while 2 * place + 1 < events_1[0]:
        below = 2 * place + 1
        if below + 1 < events_1[0] and _is_sooner(heap_S[below + 1], heap_S[below], time_ms_S):
            below += 1
        if not _is_sooner(heap_S[below], source, time_ms_S):
            break
        heap_S[place] = heap_S[below]
        place_S[heap_S[place]] = place
        place = below
    heap_S[place] = source
    place_S[source] = place


@_inner
def _exponential(key: np.uint64, server: int, draw: int) -> float:
    """A draw of mean 1 that depends on nothing but these (SplitMix64 over a counter; Steele et al., 2014)."""
    bits = key + np.uint64(server) * np.uint64(0xD1B54A32D192ED03) + np.uint64(draw) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return -math.log1p(-float(bits >> np.uint64(11)) / 9007199254740992.0)


@_inner
def _note_soonest(device: int, plan: EventPlan, queues: Queues) -> None:
    free_ms_C, soonest = queues.free_ms_DC[device], 0
    for server in range(1, plan.devices_D[device].end_server - plan.devices_D[device].first_server):
        if free_ms_C[server] < free_ms_C[soonest]:
            soonest = server
    queues.next_server_D[device], queues.next_ms_D[device] = soonest, free_ms_C[soonest]


@_inner
def _foresee_part(device: int, service_ms: float, now_ms: float, plan: EventPlan, queues: Queues) -> None:
    start_ms = max(now_ms, queues.next_ms_D[device])
    queues.free_ms_DC[device, queues.next_server_D[device]] = start_ms + service_ms
    _note_soonest(device, plan, queues)


@_inner
def _foresee(device: int, now_ms: float, plan: EventPlan, state: EventState, queues: Queues) -> None:
    """When servers will be free, as a router works it out anew after a change, where service does not scatter."""
    state.queues_D[device].changed = 0
    free_ms_C, first = queues.free_ms_DC[device], plan.devices_D[device].first_server
    for server in range(first, plan.devices_D[device].end_server):
        free_ms_C[server - first] = state.servers_V[server].free_ms
        if not state.servers_V[server].known:
            free_ms_C[server - first] = np.inf
        elif state.servers_V[server].batch >= 0:
            free_ms_C[server - first] = state.servers_V[server].start_ms + state.servers_V[server].service_ms
    _note_soonest(device, plan, queues)
    part = state.queues_D[device].first
    while part >= 0:
        _foresee_part(
            device, plan.service_ms_SX[state.parts_T[part].size, state.parts_T[part].step], now_ms, plan, queues
        )
        part = state.parts_T[part].after


@_inner
def _look(now_ms: float, plan: EventPlan, state: EventState, queues: Queues) -> None:
    """The wait at each device as far as a router can know it; infinite where it knows that all servers are down."""
    for device in range(plan.devices_D.size):
        if not plan.devices_D[device].expects:
            if state.queues_D[device].changed:
                _foresee(device, now_ms, plan, state, queues)
            state.queues_D[device].wait_ms = max(0.0, queues.next_ms_D[device] - now_ms)
            continue
        servers, idle, least_ms, left_ms, mean_ms = state.queues_D[device].known, False, np.inf, 0.0, 0.0
        for server in range(plan.devices_D[device].first_server, plan.devices_D[device].end_server):
            if not state.servers_V[server].known:
                continue
            idle |= state.servers_V[server].batch < 0
            rest_ms = max(0.0, state.servers_V[server].start_ms + state.servers_V[server].mean_ms - now_ms)
            least_ms = min(least_ms, rest_ms)
            left_ms += rest_ms
            mean_ms += state.servers_V[server].mean_ms
        wait_ms, first = 0.0, state.queues_D[device].first
        if servers == 0:
            wait_ms = np.inf
        elif idle:
            wait_ms = plan.batch_O[1] if first < 0 else state.parts_T[first].joined_ms + plan.batch_O[1] - now_ms
        else:
            ahead_ms = mean_ms / servers * (servers - 1) / (2 * servers)
            wait_ms = max(least_ms, (left_ms + state.queues_D[device].work_ms) / servers - ahead_ms)
            wait_ms = (now_ms + wait_ms) - now_ms
        state.queues_D[device].wait_ms = max(0.0, wait_ms)


@_inner
def _latency_ms(path: int, size: int, plan: EventPlan, state: EventState) -> float:
    """Expected wait, for shards too, and service."""
    wait_ms = state.queues_D[plan.steps_X[path].device].wait_ms
    for step in range(plan.paths_P[path].first_shard, plan.paths_P[path].end_shard):
        wait_ms = max(wait_ms, state.queues_D[plan.steps_X[step].device].wait_ms + plan.service_ms_SX[size, step])
    return float(plan.service_ms_SX[size, path] + wait_ms)


@_inner
def _earliest(size: int, rule: Rule, plan: EventPlan, state: EventState) -> int:
    best, best_ms = rule.path_E[0], np.inf
    for path in rule.path_E:
        latency_ms = _latency_ms(path, size, plan, state)
        if latency_ms < best_ms:
            best, best_ms = path, latency_ms
    return int(best)


@_inner
def _long_wait_ms(device: int, state: EventState) -> float:
    """The wait for those that come after all that is under way, behind shards too."""
    wait_ms, coming_ms = state.queues_D[device].wait_ms, max(0.0, state.queues_D[device].coming_ms)
    return float(wait_ms + coming_ms / max(1, state.queues_D[device].known))


@_inner
def _charge(sla_ms: float, rule: Rule, state: EventState) -> float:
    """Set what device time costs, as that function of the file on prices; how crowded the least crowded device is."""
    options_O, least, per_sla = rule.options_O, 1.0, 1.0 / sla_ms
    weight = min(options_O[CROWD_WEIGHT] * state.crowd_1[0], 1.0)
    for device in range(state.queues_D.size):
        # Where all servers are down nothing is charged, as no query is done in time there.
        wait_ms = _long_wait_ms(device, state)
        wait = wait_ms * per_sla if wait_ms < np.inf else 0.0
        crowd = min(1.0, wait)
        price, crowded = state.queues_D[device].price, state.queues_D[device].crowded
        charge = min(price * (options_O[IDLE_SHARE] + options_O[WAIT_WEIGHT] * wait), max(crowded, price))
        state.queues_D[device].charge = max(charge, crowded * weight * crowd * crowd)
        least = min(least, 1.0 if wait_ms == np.inf else crowd)
    return least


@_inner
def _price(path: int, size: int, plan: EventPlan, state: EventState) -> tuple[float, float]:
    """When the query would be done on the path, and what it would earn there: shards are charged too."""
    device, service_ms = plan.steps_X[path].device, plan.service_ms_SX[size, path] * state.learned_X[path].ratio
    wait_ms, gain = _long_wait_ms(device, state), plan.paths_P[path].accuracy * size
    gain -= state.queues_D[device].charge * service_ms
    for step in range(plan.paths_P[path].first_shard, plan.paths_P[path].end_shard):
        device, shard_ms = plan.steps_X[step].device, plan.service_ms_SX[size, step] * state.learned_X[step].ratio
        wait_ms = max(wait_ms, _long_wait_ms(device, state) + shard_ms)
        gain -= state.queues_D[device].charge * shard_ms
    return wait_ms + service_ms, gain


@_inner
def _route_by_price(
    now_ms: float,
    waited_ms: float,
    size: int,
    class_: int,
    rule: Rule,
    plan: EventPlan,
    state: EventState,
    queues: Queues,
) -> int:
    """The path that earns most of those within what is left of the SLA; -1: the query is refused."""
    _look(now_ms, plan, state, queues)
    sla_ms = rule.limit_ms_CE[class_, 0]
    least = _charge(sla_ms, rule, state)
    if waited_ms == 0.0:
        state.crowd_1[0] += (least - state.crowd_1[0]) * (4.0 / rule.options_O[MEMORY_QUERIES])
    best, best_path, best_ms, enough = -np.inf, -1, np.inf, np.inf
    for turn in range(2):
        for path in rule.path_E:
            latency_ms, gain = _price(path, size, plan, state)
            if latency_ms > sla_ms - waited_ms:
                continue
            if turn == 0:
                best = max(best, gain)
            elif gain >= enough and latency_ms < best_ms:
                best_path, best_ms = path, latency_ms
        enough = best - TRIFLE * size
    if rule.options_O[REFUSES] > 0:
        return int(best_path) if best >= 0.0 else REFUSAL
    return int(best_path) if best_path >= 0 else int(_earliest(size, rule, plan, state))


@_inner
def _learn(step: int, factor: float, state: EventState) -> None:
    """A step of service is done: hold its time against its table."""
    state.learned_X[step].observed += factor - FORGETS * state.learned_X[step].observed
    state.learned_X[step].tabled += 1.0 - FORGETS * state.learned_X[step].tabled
    observed, tabled = state.learned_X[step].observed, state.learned_X[step].tabled
    state.learned_X[step].ratio = (observed + TABLE_COUNTS) / (tabled + TABLE_COUNTS)


@_inner
def _route(
    now_ms: float,
    waited_ms: float,
    size: int,
    class_: int,
    rule: Rule,
    plan: EventPlan,
    state: EventState,
    queues: Queues,
) -> int:
    """The rule's path; another of its paths where that one is known to be down and the other is not; -1: refused."""
    if rule.kind == FIXED:
        return int(rule.path_E[0])
    if rule.kind == PRICED:
        return int(_route_by_price(now_ms, waited_ms, size, class_, rule, plan, state, queues))
    _look(now_ms, plan, state, queues)
    best, best_ms, tier = rule.path_E[-1], np.inf, -1
    for entry in range(rule.path_E.size - 1, -1, -1):
        best_ms = best_ms if rule.tier_E[entry] == tier else np.inf
        tier = rule.tier_E[entry]
        path = rule.path_E[entry]
        latency_ms = _latency_ms(path, size, plan, state)
        fast_enough = size >= rule.rate_per_ms_E[entry] * plan.service_ms_SX[size, path]
        if latency_ms <= rule.limit_ms_CE[class_, entry] and fast_enough and latency_ms <= best_ms:
            best, best_ms = path, latency_ms
    if _latency_ms(best, size, plan, state) == np.inf:
        return int(_earliest(size, rule, plan, state))
    return int(best)


@_inner
def _idle_server(device: int, plan: EventPlan, state: EventState) -> int:
    """Of the idle servers that are up, the one that has been idle for longest; -1 where there is none."""
    best, best_ms = -1, np.inf
    for server in range(plan.devices_D[device].first_server, plan.devices_D[device].end_server):
        if (
            state.servers_V[server].batch < 0
            and state.servers_V[server].down == 0
            and state.servers_V[server].free_ms < best_ms
        ):
            best, best_ms = server, state.servers_V[server].free_ms
    return best


@_inner
def _batch_end(device: int, now_ms: float, plan: EventPlan, state: EventState) -> tuple[int, int]:
    """The last part of the batch that may start, and its samples; -1 where more are waited for."""
    first = last = state.queues_D[device].first
    samples, full = state.parts_T[first].size, plan.batch_O[0]
    while samples < full:
        after = state.parts_T[last].after
        if after < 0:
            due_ms = state.parts_T[first].joined_ms + plan.batch_O[1]
            if now_ms < due_ms:
                _schedule(3 * state.servers_V.size + device, due_ms, state)
                return -1, 0
            break
        if state.parts_T[after].step != state.parts_T[first].step or samples + state.parts_T[after].size > full:
            break
        last, samples = after, samples + state.parts_T[after].size
    return last, samples


@_inner
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


@_inner
def _start(
    server: int, last: int, samples: int, now_ms: float, plan: EventPlan, state: EventState, queues: Queues
) -> None:
    """Take the parts up to `last` from the queue as one batch, whose factor is the mean of theirs by samples."""
    device = state.servers_V[server].device
    first = state.queues_D[device].first
    step, factor = state.parts_T[first].step, 0.0
    part, state.queues_D[device].first = first, state.parts_T[last].after
    if state.queues_D[device].first < 0:
        state.queues_D[device].last = -1
    state.parts_T[last].after = -1
    while part >= 0:
        slot, size = part // plan.parts, state.parts_T[part].size
        state.queues_D[device].waiting -= 1
        joined_ms = plan.joined_ms_SX[size, step]
        state.queues_D[device].work_ms = (
            state.queues_D[device].work_ms - joined_ms if state.queues_D[device].waiting > 0 else 0.0
        )
        factor += state.factor_KH[plan.steps_X[step].spread, slot] * (1.0 if last == first else size / samples)
        if state.queries_H[slot].stage == _WHOLE or np.isnan(state.queries_H[slot].start_ms):
            state.queries_H[slot].start_ms = now_ms
        part = state.parts_T[part].after
    service_ms = plan.service_ms_SX[samples, step] * factor
    if plan.conditions_XF.size:
        idle_ms = now_ms - state.servers_V[server].free_ms
        service_ms *= _condition(factor, idle_ms, plan.conditions_XF[step], device, queues.residual_D)
    if now_ms < state.servers_V[server].warm_ms:
        service_ms *= plan.devices_D[device].warm_up_factor
    state.servers_V[server].batch, state.servers_V[server].start_ms = first, now_ms
    state.servers_V[server].mean_ms, state.servers_V[server].service_ms = plan.service_ms_SX[samples, step], service_ms
    _schedule(server, now_ms + service_ms, state)


@_inner
def _serve_next(device: int, now_ms: float, plan: EventPlan, state: EventState, queues: Queues) -> None:
    while state.queues_D[device].first >= 0:
        server = _idle_server(device, plan, state)
        if server < 0:
            return
        last, samples = _batch_end(device, now_ms, plan, state)
        if last < 0:
            return
        _start(server, last, samples, now_ms, plan, state, queues)


@_inner
def _join(part: int, step: int, size: int, now_ms: float, plan: EventPlan, state: EventState, queues: Queues) -> None:
    """The part joins the queue of the step's device."""
    device = plan.steps_X[step].device
    state.parts_T[part].step, state.parts_T[part].size, state.parts_T[part].joined_ms, state.parts_T[part].after = (
        step,
        size,
        now_ms,
        -1,
    )
    if state.queues_D[device].last < 0:
        state.queues_D[device].first = part
    else:
        state.parts_T[state.queues_D[device].last].after = part
    state.queues_D[device].last = part
    state.queues_D[device].waiting += 1
    state.queues_D[device].work_ms += plan.joined_ms_SX[size, step]
    if not plan.devices_D[device].expects and not state.queues_D[device].changed:
        _foresee_part(device, plan.service_ms_SX[size, step], now_ms, plan, queues)
    _serve_next(device, now_ms, plan, state, queues)


@_inner
def _begin(slot: int, path: int, now_ms: float, plan: EventPlan, state: EventState, queues: Queues) -> None:
    """The query takes the path: its shards first, where it has any."""
    first, shards = plan.paths_P[path].first_shard, plan.paths_P[path].end_shard - plan.paths_P[path].first_shard
    state.queries_H[slot].path, state.queries_H[slot].left = path, max(shards, 1)
    state.queries_H[slot].stage = _SHARDS if shards > 0 else _WHOLE
    if shards > 0:
        state.queues_D[plan.steps_X[path].device].coming_ms += plan.service_ms_SX[state.queries_H[slot].size, path]
    for shard in range(shards):
        _join(slot * plan.parts + shard, first + shard, state.queries_H[slot].size, now_ms, plan, state, queues)
    if shards == 0:
        _join(slot * plan.parts, path, state.queries_H[slot].size, now_ms, plan, state, queues)


@_inner
def _split(slot: int, now_ms: float, rule: Rule, plan: EventPlan, state: EventState, queues: Queues) -> None:
    """The query takes several paths, samples shared out evenly or by speed; it counts with the least accurate."""
    _look(now_ms, plan, state, queues)
    size, by_speed, smallest = state.queries_H[slot].size, rule.options_O[0] > 0, rule.options_O[1]
    most = max(1, int(size / smallest))
    down = state.queues_D[plan.steps_X[_earliest(size, rule, plan, state)].device].wait_ms == np.inf
    used, total = 0, 0.0
    for path in rule.path_E:
        if used < most and (down or state.queues_D[plan.steps_X[path].device].wait_ms < np.inf):
            used += 1
            total += 1.0 / plan.service_ms_SX[size, path] if by_speed else 1.0
    state.queries_H[slot].stage, state.queries_H[slot].left, state.queries_H[slot].path = _PART, 0, -1
    used, share, given = 0, 0.0, 0
    for path in rule.path_E:
        if used < most and (down or state.queues_D[plan.steps_X[path].device].wait_ms < np.inf):
            used += 1
            share += 1.0 / plan.service_ms_SX[size, path] if by_speed else 1.0
            samples = int(size * (share / total) + 0.5) - given
            if samples > 0:
                if (
                    state.queries_H[slot].path < 0
                    or plan.paths_P[path].accuracy < plan.paths_P[state.queries_H[slot].path].accuracy
                ):
                    state.queries_H[slot].path = path
                part = slot * plan.parts + state.queries_H[slot].left
                state.queries_H[slot].left += 1
                given += samples
                _join(part, path, samples, now_ms, plan, state, queues)


@_inner
def _part_done(part: int, server: int, now_ms: float, plan: EventPlan, state: EventState, queues: Queues) -> None:
    """The query goes on once all its parts are done. One that was given up (no path) takes no time."""
    slot = part // plan.parts
    state.queries_H[slot].left -= 1
    if state.queries_H[slot].left > 0:
        return
    path = state.queries_H[slot].path
    if state.queries_H[slot].stage == _SHARDS and path >= 0:
        state.queries_H[slot].stage, state.queries_H[slot].left = _BEHIND, 1
        state.queues_D[plan.steps_X[path].device].coming_ms -= plan.service_ms_SX[state.queries_H[slot].size, path]
        _join(slot * plan.parts, path, state.queries_H[slot].size, now_ms, plan, state, queues)
        return
    state.queries_H[slot].left = -1
    state.cursor_F[IN_SYSTEM] -= 1
    if state.cursor_F[CHANGES] <= _MOST_CHANGES:
        state.cursor_F[CHANGES] = min(state.cursor_F[CHANGES], 0)
    if path < 0:
        state.queries_H[slot].start_ms, state.queries_H[slot].service_ms = state.queries_H[slot].arrival_ms, 0.0
        state.given_up_ms_1[0] = now_ms
    elif state.queries_H[slot].stage == _WHOLE:
        state.queries_H[slot].service_ms = state.servers_V[server].service_ms
    else:
        state.queries_H[slot].service_ms = now_ms - state.queries_H[slot].start_ms


@_inner
def _end_service(server: int, now_ms: float, plan: EventPlan, state: EventState, queues: Queues) -> None:
    part, device = state.servers_V[server].batch, state.servers_V[server].device
    queues.busy_ms_D[device] += state.servers_V[server].service_ms
    if plan.devices_D[device].expects:
        step = state.parts_T[part].step
        _learn(step, state.servers_V[server].service_ms / state.servers_V[server].mean_ms, state)
    state.servers_V[server].batch, state.servers_V[server].free_ms = -1, now_ms
    _schedule(server, np.inf, state)
    while part >= 0:
        after = state.parts_T[part].after
        _part_done(part, server, now_ms, plan, state, queues)
        part = after
    _serve_next(device, now_ms, plan, state, queues)


@_inner
def _give_up(slot: int, plan: EventPlan, state: EventState) -> None:
    path = state.queries_H[slot].path
    state.cursor_F[GIVEN_UP] += path >= 0
    if path >= 0 and state.queries_H[slot].stage == _SHARDS:
        state.queues_D[plan.steps_X[path].device].coming_ms -= plan.service_ms_SX[state.queries_H[slot].size, path]
    state.queries_H[slot].path = REFUSAL


@_inner
def _reassign(
    part: int, device: int, lost: int, now_ms: float, rule: Rule, plan: EventPlan, state: EventState, queues: Queues
) -> None:
    """Route parts anew that had been on a device; those that have to stay come first there, in their order."""
    first, last = -1, -1
    while part >= 0:
        after, slot = state.parts_T[part].after, part // plan.parts
        stage, size = state.queries_H[slot].stage, state.parts_T[part].size
        state.queries_H[slot].losses += lost
        state.cursor_F[LOSSES] += lost
        if state.queries_H[slot].losses > _MOST_LOSSES:
            _give_up(slot, plan, state)
            _part_done(part, 0, now_ms, plan, state, queues)
        elif plan.devices_D[device].restarts or stage in (_SHARDS, _BEHIND):
            first, state.parts_T[part].after = part if first < 0 else first, -1
            if last >= 0:
                state.parts_T[last].after = part
            last = part
            state.queues_D[device].waiting += 1
            state.queues_D[device].work_ms += plan.joined_ms_SX[size, state.parts_T[part].step]
        elif stage == _WHOLE:
            waited_ms = now_ms - state.queries_H[slot].arrival_ms
            path = _route(now_ms, waited_ms, size, state.queries_H[slot].class_, rule, plan, state, queues)
            if path < 0:
                state.queries_H[slot].path = REFUSAL
                _part_done(part, 0, now_ms, plan, state, queues)
            else:
                _begin(slot, path, now_ms, plan, state, queues)
        else:
            _look(now_ms, plan, state, queues)
            path = _earliest(size, rule, plan, state)
            if (
                state.queries_H[slot].path >= 0
                and plan.paths_P[path].accuracy < plan.paths_P[state.queries_H[slot].path].accuracy
            ):
                state.queries_H[slot].path = path
            _join(part, path, size, now_ms, plan, state, queues)
        part = after
    if first >= 0:
        state.queues_D[device].changed = 1
        state.parts_T[last].after = state.queues_D[device].first
        state.queues_D[device].first = first
        if state.queues_D[device].last < 0:
            state.queues_D[device].last = last


@_inner
def _go_down(server: int, now_ms: float, plan: EventPlan, state: EventState, queues: Queues) -> None:
    device = state.servers_V[server].device
    state.servers_V[server].down += 1
    if state.servers_V[server].down > 1:
        return
    if state.servers_V[server].batch >= 0:
        queues.busy_ms_D[device] += now_ms - state.servers_V[server].start_ms
        _schedule(server, np.inf, state)
    _schedule(2 * state.servers_V.size + server, now_ms + plan.devices_D[device].detection_ms, state)


@_inner
def _notice(
    server: int, is_up: int, now_ms: float, rule: Rule, plan: EventPlan, state: EventState, queues: Queues
) -> None:
    """The router knows now that a server is down, or up again: what it lost is routed anew, and what waits for
    devices without a server, if there is any server elsewhere.
    """
    device = state.servers_V[server].device
    lost, had = state.servers_V[server].batch, state.queues_D[device].known
    state.queues_D[device].known += is_up - state.servers_V[server].known
    state.servers_V[server].batch, state.servers_V[server].known = -1, is_up
    _schedule(2 * state.servers_V.size + server, np.inf, state)
    if is_up:
        state.servers_V[server].free_ms = now_ms
        state.servers_V[server].warm_ms = now_ms + plan.devices_D[device].warm_up_ms
    state.queues_D[device].changed = 1
    is_any_up = False
    for other in range(plan.devices_D.size):
        is_any_up |= state.queues_D[other].known > 0
    # One call for all, as a compiled function is copied wherever it is called.
    for turn in range(plan.devices_D.size + 1):
        part, other, losses = lost, device, 1
        if turn > 0:
            part, other, losses = state.queues_D[turn - 1].first, turn - 1, 0
            if not is_any_up or (other != device and (not is_up or had > 0)):
                continue
            if part < 0 or state.queues_D[other].known > 0 or plan.devices_D[other].restarts:
                continue
            state.queues_D[other].first = state.queues_D[other].last = -1
            state.queues_D[other].waiting, state.queues_D[other].work_ms = 0, 0.0
        _reassign(part, other, losses, now_ms, rule, plan, state, queues)
    _serve_next(device, now_ms, plan, state, queues)


@_inner
def _next_failure(server: int, now_ms: float, plan: EventPlan, state: EventState) -> int:
    """Draw how long the server is in its next state; returns whether it is up then, -1 where it is spared."""
    device = state.servers_V[server].device
    is_up = state.servers_V[server].failed
    state.cursor_F[CHANGES] += 1
    if state.cursor_F[CHANGES] > _MOST_CHANGES:
        # It is up from now on, and its repair is the last change.
        _schedule(state.servers_V.size + server, np.inf, state)
        state.cursor_F[SPARED] += 1
        state.servers_V[server].failed = 0
        return 1 if is_up else -1
    mean_ms = plan.devices_D[device].mtbf_ms if is_up else plan.devices_D[device].repair_ms
    state.servers_V[server].drawn += 1
    state.servers_V[server].failed = 1 - is_up
    place = server - plan.devices_D[device].first_server
    lasts_ms = mean_ms * _exponential(plan.devices_D[device].key, place, state.servers_V[server].drawn)
    _schedule(state.servers_V.size + server, now_ms + lasts_ms, state)
    return int(is_up)


@_inner
def _next_outage(device: int, plan: EventPlan, state: EventState) -> int:
    """Note when the device's outage ends, or the next begins; returns whether it is up until then."""
    change = state.queues_D[device].outage + 1
    state.queues_D[device].outage = change
    more = change < 2 * plan.devices_D[device].end_outage
    next_ms = plan.outage_ms_OB[change // 2, change % 2] if more else np.inf
    _schedule(3 * state.servers_V.size + plan.devices_D.size + device, next_ms, state)
    return 1 - int(change % 2)


@_inner
def _step(rule: Rule, plan: EventPlan, state: EventState, queues: Queues) -> None:
    """The next event."""
    source, servers, devices = state.heap_S[0], state.servers_V.size, plan.devices_D.size
    now_ms, first = state.time_ms_S[source], source % servers
    end, is_up, is_noticed = first + 1, 0, False
    if source < servers:
        _end_service(source, now_ms, plan, state, queues)
        return
    if source < 2 * servers:
        is_up = _next_failure(first, now_ms, plan, state)
        if is_up < 0:
            return
    elif source < 3 * servers:
        is_noticed = True
    elif source < 3 * servers + devices:
        _schedule(source, np.inf, state)
        _serve_next(source - 3 * servers, now_ms, plan, state, queues)
        return
    else:
        device = source - 3 * servers - devices
        first, end = plan.devices_D[device].first_server, plan.devices_D[device].end_server
        is_up = _next_outage(device, plan, state)
    for server in range(first, end):
        state.servers_V[server].down -= is_up
        if is_up == 0 and not is_noticed:
            _go_down(server, now_ms, plan, state, queues)
        elif is_noticed or state.servers_V[server].down == 0:
            _notice(server, is_up, now_ms, rule, plan, state, queues)


@_inner
def _hand_out(done: int, state: EventState, out: Chunk) -> int:
    """Copy the queries that are done, up to the first that is not; returns how many there are now."""
    places = state.queries_H.size
    while state.cursor_F[OLDEST] < state.cursor_F[NEXT] and state.queries_H[state.cursor_F[OLDEST] % places].left < 0:
        slot = state.cursor_F[OLDEST] % places
        out.size_N[done], out.class_N[done], out.path_N[done] = (
            state.queries_H[slot].size,
            state.queries_H[slot].class_,
            state.queries_H[slot].path,
        )
        out.arrival_ms_N[done], out.start_ms_N[done] = state.queries_H[slot].arrival_ms, state.queries_H[slot].start_ms
        out.service_ms_N[done] = state.queries_H[slot].service_ms
        for spread in range(state.factor_KH.shape[0]):
            out.factor_KN[spread, done] = state.factor_KH[spread, slot]
        state.cursor_F[OLDEST] += 1
        done += 1
    return done


@_inner
def _refuse(query: int, done: int, now_ms: float, chunk: Chunk, out: Chunk) -> None:
    out.size_N[done], out.class_N[done], out.path_N[done] = chunk.size_N[query], chunk.class_N[query], REFUSAL
    out.arrival_ms_N[done], out.start_ms_N[done], out.service_ms_N[done] = now_ms, now_ms, 0.0
    for spread in range(out.factor_KN.shape[0]):
        out.factor_KN[spread, done] = chunk.factor_KN[spread, query]


@njit(cache=True, nogil=True)
def start_events(plan: EventPlan, state: EventState) -> None:
    """Draw the first failures, and note the first outages."""
    servers = state.servers_V.size
    for server in range(servers):
        device = state.servers_V[server].device
        if plan.devices_D[device].mtbf_ms < np.inf:
            place = server - plan.devices_D[device].first_server
            _schedule(
                servers + server,
                plan.devices_D[device].mtbf_ms * _exponential(plan.devices_D[device].key, place, 0),
                state,
            )
    for device in range(plan.devices_D.size):
        if plan.devices_D[device].first_outage < plan.devices_D[device].end_outage:
            first_ms = plan.outage_ms_OB[plan.devices_D[device].first_outage, 0]
            _schedule(3 * servers + plan.devices_D.size + device, first_ms, state)


@njit(cache=True, nogil=True)
def serve_events(
    chunk: Chunk,
    part: tuple[int, int, int],
    gap_ms: float,
    rule: Rule,
    plan: EventPlan,
    state: EventState,
    queues: Queues,
    out: Chunk,
) -> int:
    """Route a part of the chunk: its first query, its end, and how many queries that are done `out` holds already.

    `out` receives those that are done by then; how many it holds now is returned. After an infinite gap none follows,
    so that all come to their end.
    """
    first, end, done = part
    now_ms, places = queues.clock_ms[0], state.queries_H.size
    # Counted only where none is to follow, by setting out from 0.
    state.cursor_F[CHANGES] = 0 if gap_ms == np.inf else -(2**62)
    for query in range(first, end):
        now_ms += chunk.gap_N[query] * gap_ms
        while state.events_1[0] > 0 and state.time_ms_S[state.heap_S[0]] <= now_ms:
            _step(rule, plan, state, queues)
        if state.cursor_F[NEXT] - state.cursor_F[OLDEST] == places:
            done = _hand_out(done, state, out)
        if state.cursor_F[NEXT] - state.cursor_F[OLDEST] == places:
            _refuse(query, done, now_ms, chunk, out)
            state.cursor_F[OVERFLOW] += 1
            done += 1
            continue
        slot = state.cursor_F[NEXT] % places
        state.cursor_F[NEXT] += 1
        state.cursor_F[IN_SYSTEM] += 1
        state.queries_H[slot].arrival_ms, state.queries_H[slot].start_ms = now_ms, np.nan
        state.queries_H[slot].size, state.queries_H[slot].class_ = chunk.size_N[query], chunk.class_N[query]
        state.queries_H[slot].losses = 0
        for spread in range(state.factor_KH.shape[0]):
            state.factor_KH[spread, slot] = chunk.factor_KN[spread, query]
        if rule.kind == SPLIT:
            _split(slot, now_ms, rule, plan, state, queues)
        else:
            path = _route(now_ms, 0.0, chunk.size_N[query], chunk.class_N[query], rule, plan, state, queues)
            if path < 0:
                state.queries_H[slot].path, state.queries_H[slot].left = REFUSAL, -1
                state.queries_H[slot].start_ms, state.queries_H[slot].service_ms = now_ms, 0.0
                state.cursor_F[IN_SYSTEM] -= 1
            else:
                _begin(slot, path, now_ms, plan, state, queues)
    queues.clock_ms[0] = now_ms
    while gap_ms == np.inf and state.cursor_F[IN_SYSTEM] > 0 and state.events_1[0] > 0:
        _step(rule, plan, state, queues)
    return int(_hand_out(done, state, out))
