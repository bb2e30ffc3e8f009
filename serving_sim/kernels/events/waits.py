"""The wait at each device as far as a router can know it."""

import numpy as np

from serving_sim.kernels.compiled import compiled_within
from serving_sim.kernels.events.arrays import EventPlan, EventState, Record, Records

__all__ = ["foresee_part", "look"]


@compiled_within
def _note_soonest(device: Record, queue: Record, servers_V: Records) -> None:
    soonest = device.first_server
    for server in range(device.first_server + 1, device.end_server):
        if servers_V[server].foreseen_ms < servers_V[soonest].foreseen_ms:
            soonest = server
    queue.next_server, queue.next_ms = soonest, servers_V[soonest].foreseen_ms


@compiled_within
def foresee_part(device: Record, queue: Record, service_ms: float, now_ms: float, servers_V: Records) -> None:
    """When servers will be free once a part has joined the queue."""
    servers_V[queue.next_server].foreseen_ms = max(now_ms, queue.next_ms) + service_ms
    _note_soonest(device, queue, servers_V)


@compiled_within
def _foresee(device: Record, queue: Record, now_ms: float, plan: EventPlan, state: EventState) -> None:
    """When servers will be free, as a router works it out anew after a change, where service does not scatter."""
    queue.changed = 0
    for place in range(device.first_server, device.end_server):
        server = state.servers_V[place]
        server.foreseen_ms = server.free_ms
        if not server.known:
            server.foreseen_ms = np.inf
        elif server.batch >= 0:
            server.foreseen_ms = server.start_ms + server.service_ms
    _note_soonest(device, queue, state.servers_V)
    next_part = queue.first
    while next_part >= 0:
        part = state.parts_T[next_part]
        foresee_part(device, queue, plan.service_ms_SX[part.size, part.step], now_ms, state.servers_V)
        next_part = part.after


@compiled_within
def _expect_ms(device: Record, queue: Record, now_ms: float, plan: EventPlan, state: EventState) -> float:
    """From mean service times alone; infinite where all servers are known to be down."""
    servers, idle, least_ms, left_ms, mean_ms = queue.known, False, np.inf, 0.0, 0.0
    if servers == 0:
        return np.inf
    for place in range(device.first_server, device.end_server):
        server = state.servers_V[place]
        if not server.known:
            continue
        idle |= server.batch < 0
        rest_ms = max(0.0, server.start_ms + server.mean_ms - now_ms)
        least_ms = min(least_ms, rest_ms)
        left_ms += rest_ms
        mean_ms += server.mean_ms
    if idle:
        return plan.wait_ms if queue.first < 0 else state.parts_T[queue.first].joined_ms + plan.wait_ms - now_ms
    ahead_ms = mean_ms / servers * (servers - 1) / (2 * servers)
    wait_ms = max(least_ms, (left_ms + queue.work_ms) / servers - ahead_ms)
    return float((now_ms + wait_ms) - now_ms)


@compiled_within
def look(now_ms: float, plan: EventPlan, state: EventState) -> None:
    """Note the wait at each device; infinite where a router knows that all servers are down."""
    for place in range(plan.devices_D.size):
        device, queue = plan.devices_D[place], state.queues_D[place]
        if device.expects:
            queue.wait_ms = max(0.0, _expect_ms(device, queue, now_ms, plan, state))
            continue
        if queue.changed:
            _foresee(device, queue, now_ms, plan, state)
        queue.wait_ms = max(0.0, queue.next_ms - now_ms)
