"""The general loop, by events: batches, queries in parts, shards, servers that fail and come back.

Events come by time, those of one time by source (see `arrays`), so that the order is total. On plans that the other
loops serve, this one gives the same, bit for bit, as long as no more than `MOST_WAITING` queries wait. It is told of a
server's end of service only when it is there: routing sees what a router could know.

Queries are handed out in the order of arrival, once all before them are done. One that finds no place is refused, and
handed out at once.
"""

import numpy as np

from serving_sim.kernels.arrays import EXPONENT_OF_ONE, MANTISSA_BITS, REFUSAL, SPLIT, Chunk, Rule
from serving_sim.kernels.compiled import compiled, compiled_within, inlined
from serving_sim.kernels.events.arrays import EventPlan, EventState
from serving_sim.kernels.events.failures import await_failures, go_down, next_failure, next_outage, notice
from serving_sim.kernels.events.heap import schedule
from serving_sim.kernels.events.routing import route
from serving_sim.kernels.events.service import PART, begin, end_service, serve_next, split

__all__ = ["serve_events"]


@inlined
def _step(rule: Rule, plan: EventPlan, state: EventState) -> None:
    """The next event."""
    source, servers, devices = state.sources_S[0].heap, state.servers_V.size, plan.devices_D.size
    now_ms, first = state.sources_S[source].time_ms, source % servers
    end, is_up, is_noticed = first + 1, 0, False
    if source < servers:
        end_service(source, now_ms, plan, state)
        return
    if source < 2 * servers:
        is_up = next_failure(first, now_ms, plan, state)
        if is_up < 0:
            return
    elif source < 3 * servers:
        is_noticed = True
    elif source < 3 * servers + devices:
        schedule(source, np.inf, state)
        serve_next(source - 3 * servers, now_ms, plan, state)
        return
    else:
        device = source - 3 * servers - devices
        first, end = plan.devices_D[device].first_server, plan.devices_D[device].end_server
        is_up = next_outage(device, plan, state)
    for server in range(first, end):
        state.servers_V[server].down -= is_up
        if is_up == 0 and not is_noticed:
            go_down(server, now_ms, plan, state)
        elif is_noticed or state.servers_V[server].down == 0:
            notice(server, is_up, now_ms, rule, plan, state)


@inlined
def _run_until(end_ms: float, rule: Rule, plan: EventPlan, state: EventState) -> None:
    """All events up to then; without an end, all until no query is left."""
    loop = state.loop_1[0]
    while loop.events > 0 and state.sources_S[state.sources_S[0].heap].time_ms <= end_ms:
        if end_ms == np.inf and loop.in_system == 0:
            return
        _step(rule, plan, state)


@compiled_within
def _count_parts(slot: int, plan: EventPlan, state: EventState) -> None:
    """Count the samples of a split query by the step that served them."""
    size = state.queries_H[slot].size
    size_class = (np.float64(size | 1).view(np.int64) >> MANTISSA_BITS) - EXPONENT_OF_ONE
    for number in range(slot * plan.parts, (slot + 1) * plan.parts):
        part = state.parts_T[number]
        state.samples_XC[part.step, size_class] += part.size


@compiled_within
def _hand_out(done: int, skip: int, plan: EventPlan, state: EventState, out: Chunk) -> int:
    """Copy the queries that are done, up to the first that is not; returns how many there are now. The first `skip` of
    them are not counted.
    """
    loop, places = state.loop_1[0], state.queries_H.size
    while loop.oldest < loop.next and state.queries_H[loop.oldest % places].left < 0:
        slot = loop.oldest % places
        query = state.queries_H[slot]
        out.size_N[done], out.class_N[done], out.path_N[done] = query.size, query.class_, query.path
        out.arrival_ms_N[done], out.start_ms_N[done] = query.arrival_ms, query.start_ms
        out.service_ms_N[done] = query.service_ms
        for spread in range(state.factor_KH.shape[0]):
            out.factor_KN[spread, done] = state.factor_KH[spread, slot]
        if query.stage == PART and query.path >= 0 and done >= skip:
            _count_parts(slot, plan, state)
        loop.oldest += 1
        done += 1
    return done


@compiled_within
def _refuse(number: int, done: int, now_ms: float, chunk: Chunk, out: Chunk) -> None:
    out.size_N[done], out.class_N[done], out.path_N[done] = chunk.size_N[number], chunk.class_N[number], REFUSAL
    out.arrival_ms_N[done], out.start_ms_N[done], out.service_ms_N[done] = now_ms, now_ms, 0.0
    for spread in range(out.factor_KN.shape[0]):
        out.factor_KN[spread, done] = chunk.factor_KN[spread, number]


@inlined
def _take_in(number: int, now_ms: float, chunk: Chunk, rule: Rule, plan: EventPlan, state: EventState) -> None:
    """A query comes: route it, and let its parts join their devices."""
    loop = state.loop_1[0]
    slot = loop.next % state.queries_H.size
    query = state.queries_H[slot]
    loop.next += 1
    loop.in_system += 1
    query.arrival_ms, query.start_ms, query.losses = now_ms, np.nan, 0
    query.size, query.class_ = chunk.size_N[number], chunk.class_N[number]
    for spread in range(state.factor_KH.shape[0]):
        state.factor_KH[spread, slot] = chunk.factor_KN[spread, number]
    if rule.kind == SPLIT:
        split(slot, now_ms, rule, plan, state)
        return
    path = route(now_ms, 0.0, query.size, query.class_, rule, plan, state)
    if path >= 0:
        begin(slot, path, now_ms, plan, state)
        return
    query.path, query.left, query.start_ms, query.service_ms = REFUSAL, -1, now_ms, 0.0
    loop.in_system -= 1


@compiled
def serve_events(
    chunk: Chunk,
    part: tuple[int, int, int, int],
    gap_ms: float,
    rule: Rule,
    plan: EventPlan,
    state: EventState,
    out: Chunk,
) -> int:
    """Route a part of the chunk: its first query, its end, how many queries that are done `out` holds already, and how
    many of those that it will hold are not counted.

    `out` receives those that are done by then; how many it holds now is returned. After an infinite gap none follows,
    so that all come to their end.
    """
    first, end, done, skip = part
    loop, places = state.loop_1[0], state.queries_H.size
    if not loop.started:
        loop.started = 1
        await_failures(plan, state)
    # Counted only where none is to follow, by setting out from 0.
    loop.changes = 0 if gap_ms == np.inf else -(2**62)
    ends = 1 if gap_ms == np.inf else 0
    for query in range(first, end + ends):
        # One call for all, as a compiled function is copied wherever it is called.
        now_ms = np.inf if query == end else loop.now_ms + chunk.gap_N[query] * gap_ms
        _run_until(now_ms, rule, plan, state)
        if query == end:
            break
        loop.now_ms = now_ms
        if loop.next - loop.oldest == places:
            done = _hand_out(done, skip, plan, state, out)
        if loop.next - loop.oldest == places:
            _refuse(query, done, now_ms, chunk, out)
            loop.overflow += 1
            done += 1
        else:
            _take_in(query, now_ms, chunk, rule, plan, state)
    return int(_hand_out(done, skip, plan, state, out))
