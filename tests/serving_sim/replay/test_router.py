from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from profiles.units import MS_PER_S
from serving_sim.engine import SimulationOptions, start_simulation
from serving_sim.replay.board import BoardArrays
from serving_sim.replay.router import start_router
from serving_sim.testing import small_plan


@pytest.mark.parametrize("policy", ["mp-rec", "table-switch", "static", "accuracy-floor", "headroom"])
def test_it_decides_as_the_simulator_does_where_service_is_as_tabled(policy: str) -> None:
    routed, simulated, _ = _routed(policy, ahead_ms=0.0)
    # Clocks differ in the last bits.
    assert np.mean(routed == simulated) >= 0.99


@pytest.mark.parametrize("policy", ["mp-rec", "headroom"])
def test_a_query_that_begins_while_another_is_routed_does_not_wait_for_ever(policy: str) -> None:
    """Workers go on between the router's look at the clock and its look at the board."""
    routed, simulated, waiting = _routed(policy, ahead_ms=0.3)
    assert waiting == 0
    assert np.mean(routed == simulated) >= 0.9


def test_it_learns_from_services_that_follow_one_another() -> None:
    """A server may end one query and begin the next between two looks."""
    for qps in (1000.0, 4000.0):
        routed, simulated, _ = _routed("headroom", ahead_ms=0.0, sigma=0.6, qps=qps)
        assert np.mean(routed == simulated) >= 0.98


def _routed(
    policy: str, *, ahead_ms: float, sigma: float = 0.0, qps: float = 1000.0
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Paths by the live router, which sees what begins and ends `ahead_ms` after now, and by the simulator; how many
    queries wait for the router long after the last.
    """
    plan = small_plan(qps=qps, queries=600)
    if sigma:
        scattered = [replace(path.latency, spread="lognormal", sigma=sigma) for path in plan.paths]
        paths = (replace(path, latency=own) for path, own in zip(plan.paths, scattered, strict=True))
        plan = replace(plan, paths=tuple(paths))
    plan = replace(plan, devices=tuple(replace(device, servers=1) for device in plan.devices))
    simulation = start_simulation(plan, policy=policy, options=SimulationOptions(fluid_bound=False))
    simulation.advance(600)
    chunk = simulation.chunk
    board = BoardArrays(
        arrival_s_N=np.zeros(600),
        size_N=chunk.size_N,
        class_N=chunk.class_N,
        path_N=np.zeros(600, dtype=np.int64),
        sent_s_N=np.zeros(600),
        start_s_N=np.zeros(600),
        finish_s_N=np.zeros(600),
        queue_DN=np.zeros((2, 600), dtype=np.int64),
        taken_D=np.zeros(2, dtype=np.int64),
        done_W=np.zeros(2, dtype=np.int64),
    )
    began_s = 100.0
    router = start_router(plan, policy, board, began_s)
    device_P = router.run.paths.device_P
    routed: list[int] = []
    for query in range(600):
        now_ms = float(chunk.arrival_ms_N[query])
        device_N, start_ms_N = device_P[chunk.path_N[:query]], chunk.start_ms_N[:query]
        finish_ms_N = start_ms_N + chunk.service_ms_N[:query]
        seen_ms = now_ms + ahead_ms if query < 599 else np.inf
        board.start_s_N[:query] = np.where(start_ms_N <= seen_ms, began_s + start_ms_N / MS_PER_S, 0.0)
        board.finish_s_N[:query] = np.where(finish_ms_N <= seen_ms, began_s + finish_ms_N / MS_PER_S, 0.0)
        for device in range(2):
            board.done_W[router.workers_D[device].start] = np.sum((device_N == device) & (finish_ms_N <= seen_ms))
        routed.append(router.route(query, began_s + now_ms / MS_PER_S))
        board.path_N[query] = chunk.path_N[query]
    return np.array(routed), chunk.path_N[:600], int(router.run.waiting.count_D.sum())
