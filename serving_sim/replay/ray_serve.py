"""The same queries through Ray Serve, as a user would deploy the plan: a deployment for each device with all its paths.

A replica is a server of the device and serves one query at a time. A lone replica keeps its own queue: Serve then sends
it everything at once, where for several it asks which of them is free before it sends anything. Only the generator, the
handles and the way back are Serve's; what is served is the same.
"""

import asyncio
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from profiles.errors import InputError, MeasurementError
from profiles.units import MS_PER_S
from serving_sim.plan import Ids, Path, Plan
from serving_sim.policies import PolicyLike
from serving_sim.replay.board import BoardArrays
from serving_sim.replay.child import settle
from serving_sim.replay.live import LiveOptions, LiveTrace
from serving_sim.replay.queries import Queries
from serving_sim.replay.router import LiveRouter, start_router
from serving_sim.replay.worker import load_path

__all__ = ["require_ray_serve", "serve_on_ray"]

_LEAD_S = 0.2
# As many queries as a lone replica may hold; Serve wants a bound.
_NO_LIMIT = 1_000_000
# The longest that models, and the generator's look at the clock, keep the threads that talk to Serve from running.
_SWITCH_S = 0.1e-3
# Before a query is due, the generator sleeps until so long, and then lets others run and looks at the clock.
_YIELD_S = 1.2e-3


def require_ray_serve() -> Any:
    """Ray Serve, which reads its options when it is first imported: with those for throughput, where none are set.

    Without them a call goes through two more threads on either side.

    Raises:
        InputError: it is not installed.
    """
    os.environ.setdefault("RAY_SERVE_THROUGHPUT_OPTIMIZED", "1")
    try:
        from ray import serve
    except ImportError as error:
        raise InputError(f"--serve: needs Ray Serve: pip install 'recplan[serve]' ({error})") from error
    return serve


def serve_on_ray(
    plan: Plan, queries: Queries, *, policy: PolicyLike | None = None, options: LiveOptions | None = None
) -> LiveTrace:
    """Serve the queries through Ray Serve on this machine.

    Raises:
        InputError: Ray Serve is not installed, or workers should poll.
        MeasurementError: a replica failed or was killed, or the queries were not done in time.
    """
    import ray

    from profiles.executors.connection import connect

    serve, options, interval_s = require_ray_serve(), options or LiveOptions(), sys.getswitchinterval()
    if options.busy_poll:
        raise InputError("busy_poll: replicas of Ray Serve wait for queries as Ray does; leave out one of the two")
    logging.getLogger("ray.serve").setLevel(logging.CRITICAL)
    has_connected = connect("local")
    try:
        # One event loop for all: routers of Serve live in that which first asked them for something.
        with asyncio.Runner() as runner:
            try:
                serve.start(proxy_location="Disabled")
                handles = [_deploy(serve, plan, device, options) for device in range(len(plan.devices))]
                sys.setswitchinterval(_SWITCH_S)
                return runner.run(_drive(plan, policy, handles, _arrays(queries, plan), queries, options))
            finally:
                sys.setswitchinterval(interval_s)
                # Not `shutdown_async`, which waits 30 s for a controller that is gone.
                serve.shutdown()
    except ray.exceptions.RayError as error:
        raise MeasurementError(f"replay: Ray Serve failed: {error}") from error
    except TimeoutError as error:
        raise MeasurementError(
            f"replay: not all queries were served {options.drain_limit_s:g} s after the last arrival; the load is "
            "above what Ray Serve serves here"
        ) from error
    finally:
        if has_connected:
            ray.shutdown()


class _Replica:
    """All models of a device in a replica; a call gives when it began and ended."""

    def __init__(self, paths: Mapping[int, Path], options: LiveOptions, ids: Ids, largest: int, seed: int) -> None:
        import torch

        torch.set_num_threads(options.threads)
        sys.setswitchinterval(_SWITCH_S)
        self._paths = {
            place: load_path(path, options.exports.get(path.name), ids, largest, seed) for place, path in paths.items()
        }
        settle()

    async def __call__(self, path: int, size: int, place: int) -> tuple[float, float]:
        """Serve one query; it keeps the replica to itself until it is done."""
        import torch

        start_s = time.perf_counter()
        with torch.inference_mode():
            self._paths[path](size, place)
        return start_s, time.perf_counter()


def _deploy(serve: Any, plan: Plan, device: int, options: LiveOptions) -> Any:
    load, servers = plan.workload, plan.devices[device].servers
    deployment = serve.deployment(
        name=f"device-{device}",
        num_replicas=servers,
        max_ongoing_requests=_NO_LIMIT if servers == 1 else 1,
        # Replicas of one processor share it, as workers do.
        ray_actor_options={"num_cpus": 0},
        graceful_shutdown_timeout_s=0,
        logging_config={"log_level": "ERROR", "enable_access_log": False},
    )(_Replica)
    paths = {place: path for place, path in enumerate(plan.paths) if plan.device_of(path) == device}
    application = deployment.bind(paths, options, load.ids, load.largest_size, plan.seed)
    return serve.run(application, name=f"device-{device}", route_prefix=None)


def _arrays(queries: Queries, plan: Plan) -> BoardArrays:
    """A board of this process alone."""
    count = len(queries)
    return BoardArrays(
        arrival_s_N=queries.arrival_ms_N / MS_PER_S,
        size_N=queries.size_N,
        class_N=queries.class_N,
        path_N=np.full(count, -1),
        sent_s_N=np.zeros(count),
        start_s_N=np.zeros(count),
        finish_s_N=np.zeros(count),
        queue_DN=np.empty((0, 0), dtype=np.int64),
        taken_D=np.empty(0, dtype=np.int64),
        done_W=np.zeros(sum(device.servers for device in plan.devices), dtype=np.int64),
    )


async def _drive(
    plan: Plan,
    policy: PolicyLike | None,
    handles: Sequence[Any],
    arrays: BoardArrays,
    queries: Queries,
    options: LiveOptions,
) -> LiveTrace:
    """Send each query when it is due; what comes back is noted as it comes."""
    device_P = [plan.device_of(path) for path in plan.paths]
    for place, device in enumerate(device_P):
        await handles[device].remote(place, 1, 0)
    start_router(plan, policy, arrays, 0.0)
    returned_s_N = np.full(len(queries), np.nan)
    began_s = time.perf_counter() + _LEAD_S
    router = start_router(plan, policy, arrays, began_s)
    arrivals_s = (arrays.arrival_s_N + began_s).tolist()
    under_way = []
    for query, due_s in enumerate(arrivals_s):
        await _until(due_s)
        now_s = time.perf_counter()
        path = router.route(query, now_s)
        arrays.path_N[query], arrays.sent_s_N[query] = path, now_s
        if path >= 0:
            device = device_P[path]
            response = handles[device].remote(path, int(queries.size_N[query]), query)
            under_way.append(asyncio.create_task(_note(response, query, device, router, returned_s_N)))
    await asyncio.wait_for(asyncio.gather(*under_way), options.drain_limit_s)
    return _trace(queries, arrays, returned_s_N, began_s)


async def _until(due_s: float) -> None:
    await asyncio.sleep(max(due_s - time.perf_counter() - _YIELD_S, 0.0))
    while time.perf_counter() < due_s:  # noqa: ASYNC110 (a clock is no event)
        await asyncio.sleep(0)


async def _note(
    response: Any, query: int, device: int, router: LiveRouter, returned_s_N: np.ndarray[Any, np.dtype[np.float64]]
) -> None:
    start_s, finish_s = await response
    returned_s_N[query] = time.perf_counter()
    board, workers = router.board, router.workers_D[device]
    board.start_s_N[query], board.finish_s_N[query] = start_s, finish_s
    # Which replica it was does not matter: the router asks for their sum.
    board.done_W[workers.start] += 1


def _trace(
    queries: Queries, arrays: BoardArrays, returned_s_N: np.ndarray[Any, np.dtype[np.float64]], began_s: float
) -> LiveTrace:
    served_N = arrays.path_N >= 0
    start_ms_N, finish_ms_N, returned_ms_N = (
        np.where(served_N, (seconds_N - began_s) * MS_PER_S, np.nan)
        for seconds_N in (arrays.start_s_N, arrays.finish_s_N, returned_s_N)
    )
    return LiveTrace(
        queries=queries,
        path_N=arrays.path_N,
        sent_ms_N=(arrays.sent_s_N - began_s) * MS_PER_S,
        start_ms_N=start_ms_N,
        finish_ms_N=finish_ms_N,
        returned_ms_N=returned_ms_N,
        notes=("through Ray Serve: a deployment for each device, whose replicas share the processor's cores",),
    )
