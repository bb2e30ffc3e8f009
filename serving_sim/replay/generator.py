"""The open-loop generator: a process that sends each query when it is due, however the servers fare, and routes it."""

import time
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection

from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike
from serving_sim.replay.board import END, Board, BoardArrays
from serving_sim.replay.child import READY, parent_lives, run_child, settle
from serving_sim.replay.router import LiveRouter, start_router

__all__ = ["GeneratorTask", "send_queries"]

# It sleeps until so long before a query is due, and then looks at the clock all the time.
_SPIN_S = 0.2e-3
_LONGEST_SLEEP_S = 0.5
_LEAD_S = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratorTask:
    """The plan whose policy routes, and the process that started this one."""

    plan: Plan
    policy: PolicyLike | None
    parent: int


def send_queries(task: GeneratorTask, board: Board, connection: Connection, cores: tuple[int, ...]) -> None:
    """The whole life of the generator process; it begins once its parent says so."""
    run_child(connection, cores, partial(_generate, task, board, connection))


def _generate(task: GeneratorTask, board: Board, connection: Connection) -> None:
    arrays = board.arrays()
    # Routers compile what they need before any clock runs.
    start_router(task.plan, task.policy, arrays, 0.0)
    settle()
    connection.send((READY, ""))
    while not connection.poll(_LONGEST_SLEEP_S):
        if not parent_lives(task.parent):
            return
    connection.recv()
    began_s = time.perf_counter() + _LEAD_S
    arrays.arrival_s_N[:] += began_s
    router = start_router(task.plan, task.policy, arrays, began_s)
    device_P = router.run.paths.device_P.tolist()
    for query in range(len(arrays.size_N)):
        if not _wait_until(float(arrays.arrival_s_N[query]), task.parent):
            return
        _send(query, router, board, arrays, device_P)
    for device, places in enumerate(task.plan.devices):
        for _ in range(places.servers):
            arrays.queue_DN[device, router.sent_D[device]] = END
            router.sent_D[device] += 1
            board.waiting_D[device].release()


def _wait_until(due_s: float, parent: int) -> bool:
    """Sleep, then spin; false where the parent has gone meanwhile."""
    while (left_s := due_s - time.perf_counter()) > _SPIN_S:
        if left_s > _LONGEST_SLEEP_S and not parent_lives(parent):
            return False
        time.sleep(min(left_s - _SPIN_S, _LONGEST_SLEEP_S))
    while time.perf_counter() < due_s:
        pass
    return True


def _send(query: int, router: LiveRouter, board: Board, arrays: BoardArrays, device_P: list[int]) -> None:
    now_s = time.perf_counter()
    path = router.route(query, now_s)
    arrays.path_N[query] = path
    arrays.sent_s_N[query] = now_s
    if path >= 0:
        device = device_P[path]
        arrays.queue_DN[device, router.sent_D[device] - 1] = query
        board.waiting_D[device].release()
