"""The plan's policy on live queues: the simulator's own kernel, one query at a time.

What the kernel would have drawn is overwritten by what was observed so far: which servers are busy, when queries began,
how long they took. It decides by the plan's latency tables, as it does in simulation.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from profiles.units import MS_PER_S
from serving_sim.kernels import MOST_WAITING, Chunk
from serving_sim.paths import compile_paths, conditions_of
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike, as_policy, routing_context
from serving_sim.replay.board import BoardArrays
from serving_sim.run import Run, start_run
from serving_sim.workload import empty_chunk

__all__ = ["LiveRouter", "start_router"]

# By how much a busy device is free later than now, for the kernel, which asks no more of it.
_BUSY_MS = 1e-3
# More than rounding moves the kernel's clock.
_JUST_BEFORE_MS = 1e-6
_NONE = -1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LiveRouter:
    """Decides path by path. `waiting_D` are the queries in each device's ring, `begun_D` the last of each server.

    Which process serves as which of a device's servers does not matter, and is not looked at.
    """

    run: Run
    chunk: Chunk
    board: BoardArrays
    workers_D: tuple[slice, ...]
    began_s: float
    sent_D: list[int]
    waiting_D: tuple[deque[int], ...]
    begun_D: tuple[list[int], ...]

    def route(self, query: int, now_s: float) -> int:
        """The query's path, -1 where the policy refuses it; it counts as sent to the path's device."""
        now_ms, queues, chunk = (now_s - self.began_s) * MS_PER_S, self.run.queues, self.chunk
        idle_D = [self._observe(device, now_ms) for device in range(len(self.sent_D))]
        chunk.gap_N[0] = max(now_ms - queues.clock_ms[0], 0.0) / self.run.gap_ms
        chunk.size_N[0], chunk.class_N[0] = self.board.size_N[query], self.board.class_N[query]
        self.run.serve(chunk, 1)
        path = int(chunk.path_N[0])
        if path >= 0:
            device = int(self.run.paths.device_P[path])
            self._note(query, device, idle_D[device])
        return path

    def _observe(self, device: int, now_ms: float) -> int:
        """Put the device's queue as it is in place of the kernel's; the server that is idle, or -1."""
        queues, servers = self.run.queues, len(self.begun_D[device])
        busy = self.sent_D[device] - int(self.board.done_W[self.workers_D[device]].sum())
        if self.run.market is not None:
            # Before others take their servers: the kernel learns of a service when the next one begins.
            for server, query in enumerate(self.begun_D[device]):
                if query != _NONE and self._is_done(query):
                    self.run.market.begun_factor_DC[device, server] = self._factor(query)
        self._begin_waiting(device, now_ms)
        idle = self._idle_server(device) if busy < servers else _NONE
        queues.next_ms_D[device] = now_ms + _BUSY_MS if idle == _NONE else 0.0
        queues.next_server_D[device] = max(idle, 0)
        return idle

    def _begin_waiting(self, device: int, now_ms: float) -> None:
        """Say of the queries in the ring that have begun when, on which server and, where they are done, how long.

        The kernel takes these out of the ring when it routes, which is next: those that began before now. One that
        began since the clock was read counts as begun just before, or it would stay there for good.
        """
        ring, waiting, place = self.run.waiting, self.waiting_D[device], int(self.run.waiting.first_D[device])
        while waiting and self.board.start_s_N[waiting[0]] > 0:
            query, server = waiting.popleft(), max(self._idle_server(device), 0)
            start_ms = (self.board.start_s_N[query] - self.began_s) * MS_PER_S
            ring.start_ms_DW[device, place] = min(start_ms, now_ms - _JUST_BEFORE_MS)
            ring.server_DW[device, place] = server
            self.begun_D[device][server] = query
            if self.run.market is not None and self._is_done(query):
                self.run.market.factor_DW[device, place] = self._factor(query)
            place = (place + 1) % MOST_WAITING

    def _idle_server(self, device: int) -> int:
        begun = self.begun_D[device]
        return next((server for server, query in enumerate(begun) if query == _NONE or self._is_done(query)), _NONE)

    def _is_done(self, query: int) -> bool:
        return bool(self.board.finish_s_N[query] > 0)

    def _factor(self, query: int) -> float:
        """Observed service time over the table's."""
        took_ms = (self.board.finish_s_N[query] - self.board.start_s_N[query]) * MS_PER_S
        return float(took_ms / self.run.paths.service_ms_SP[self.board.size_N[query], self.board.path_N[query]])

    def _note(self, query: int, device: int, idle: int) -> None:
        """The kernel has put the query under way, or into the device's ring."""
        ring, waiting = self.run.waiting, self.waiting_D[device]
        self.sent_D[device] += 1
        if idle != _NONE:
            self.begun_D[device][idle] = query
        elif ring.count_D[device] > len(waiting):
            waiting.append(query)
            last = (ring.first_D[device] + ring.count_D[device] - 1) % MOST_WAITING
            ring.start_ms_DW[device, last] = np.inf


def start_router(plan: Plan, policy: PolicyLike | None, board: BoardArrays, began_s: float) -> LiveRouter:
    """A router with all devices idle.

    Raises:
        InputError: an unknown policy or option, or a table that cannot be compiled.
    """
    tables = compile_paths(plan)
    arrays = tables.arrays._replace(
        uncertain_D=np.ones(len(plan.devices), dtype=np.int64),
        spread_P=np.zeros(len(plan.paths), dtype=np.int64),
        conditions_PF=conditions_of(()),
    )
    rule = as_policy(plan.policy if policy is None else policy).compile(routing_context(plan))
    run = start_run(arrays, rule, qps=plan.workload.qps, sla_ms=plan.workload.slas_ms)
    chunk = empty_chunk(1, 1)
    chunk.factor_KN[:] = 1.0
    run.serve(chunk, 0)
    servers_D = [device.servers for device in plan.devices]
    ends_D = np.cumsum(servers_D).tolist()
    return LiveRouter(
        run=run,
        chunk=chunk,
        board=board,
        workers_D=tuple(slice(end - servers, end) for end, servers in zip(ends_D, servers_D, strict=True)),
        began_s=began_s,
        sent_D=[0] * len(servers_D),
        waiting_D=tuple(deque() for _ in servers_D),
        begun_D=tuple([_NONE] * servers for servers in servers_D),
    )
