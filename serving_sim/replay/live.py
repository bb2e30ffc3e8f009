"""Serve queries for real: a process per server, the generator in another, all of them watched from here.

Nothing waits for ever: a process that fails or is killed ends the replay with an error, and so does one that is not
ready, or not done, in time.
"""

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path as FilePath
from signal import Signals
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError, MeasurementError
from profiles.units import MS_PER_S
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike
from serving_sim.replay.board import Board, new_board
from serving_sim.replay.child import FAILED
from serving_sim.replay.cores import available_cores, share_cores
from serving_sim.replay.generator import GeneratorTask, send_queries
from serving_sim.replay.queries import Queries
from serving_sim.replay.worker import WorkerTask, serve_queries

__all__ = ["LiveOptions", "LiveTrace", "serve_live"]

_POLL_S = 0.05
_LAST_WORDS_S = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveOptions:
    """How queries are served: threads of each worker, exported models by the name of their path, and patience.

    With `busy_poll` a worker looks for its next query all the time instead of sleeping until one comes.
    `setup_limit_s`: for all processes to be ready; `drain_limit_s`: for the last query to be done after it arrived.
    """

    threads: int = 1
    busy_poll: bool = False
    exports: Mapping[str, FilePath] = field(default_factory=dict)
    setup_limit_s: float = 300.0
    drain_limit_s: float = 30.0

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise InputError(f"threads: must be >= 1, but got {self.threads}")
        for name in ("setup_limit_s", "drain_limit_s"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name}: must be > 0, but got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LiveTrace:
    """What became of each query, in ms from the start; a refused one has path -1 and no times (NaN).

    `sent_ms_N` is when the generator had the query: what it is late by is its own fault, and part of the latency.
    `returned_ms_N` is when the answer was back, where that is not when the query was done.
    """

    queries: Queries
    path_N: NDArray[np.int64]
    sent_ms_N: NDArray[np.float64]
    start_ms_N: NDArray[np.float64]
    finish_ms_N: NDArray[np.float64]
    returned_ms_N: NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()

    @property
    def service_ms_N(self) -> NDArray[np.float64]:  # noqa: N802 (a shape suffix)
        """How long each query was served."""
        return self.finish_ms_N - self.start_ms_N

    @property
    def latency_ms_N(self) -> NDArray[np.float64]:  # noqa: N802 (a shape suffix)
        """From the scheduled arrival until the answer is back."""
        ends_ms_N = self.finish_ms_N if self.returned_ms_N is None else self.returned_ms_N
        return ends_ms_N - self.queries.arrival_ms_N


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Child:
    name: str
    process: SpawnProcess
    connection: Connection


def serve_live(
    plan: Plan,
    queries: Queries,
    *,
    policy: PolicyLike | None = None,
    options: LiveOptions | None = None,
    begun: Callable[[], None] = lambda: None,
) -> LiveTrace:
    """Serve the queries on this machine, every path of the plan by its model; the policy routes as they come.

    `begun` is called once all processes are ready and queries are sent.

    Raises:
        InputError: `busy_poll` with fewer cores than processes.
        MeasurementError: a process failed, was killed, or was not ready or done in time.
    """
    options = options or LiveOptions()
    context = multiprocessing.get_context("spawn")
    servers_D = [device.servers for device in plan.devices]
    board = new_board(context, queries, servers_D)
    share = share_cores(available_cores(), sum(servers_D), options.threads)
    if options.busy_poll and share.note:
        raise InputError(f"busy_poll: {share.note}, which those that poll would not end")
    with _children() as children:
        generator = GeneratorTask(plan=plan, policy=policy, parent=os.getpid())
        children.append(_spawn(context, "the generator", send_queries, (generator, board), share.generator))
        for task, cores in zip(_worker_tasks(plan, options), share.workers, strict=True):
            name = f"the worker of {plan.devices[task.device].name}"
            children.append(_spawn(context, name, serve_queries, (task, board), cores))
        _await_ready(children, options.setup_limit_s)
        children[0].connection.send("go")
        begun()
        last_s = float(queries.arrival_ms_N[-1]) / MS_PER_S
        _await_end(children, board, time.monotonic() + last_s + options.drain_limit_s, options.drain_limit_s)
    return _trace(queries, board, (share.note,) if share.note else ())


def _worker_tasks(plan: Plan, options: LiveOptions) -> Iterator[WorkerTask]:
    worker = 0
    for device, one in enumerate(plan.devices):
        paths = {index: path for index, path in enumerate(plan.paths) if path.device == one.name}
        for _ in range(one.servers):
            yield WorkerTask(
                device=device,
                worker=worker,
                paths=paths,
                exports=options.exports,
                ids=plan.workload.ids,
                largest=plan.workload.largest_size,
                threads=options.threads,
                busy_poll=options.busy_poll,
                seed=plan.seed,
                parent=os.getpid(),
            )
            worker += 1


def _spawn(context: SpawnContext, name: str, target: Any, task: tuple[Any, Board], cores: tuple[int, ...]) -> _Child:
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(*task, theirs, cores), name=name, daemon=True)
    process.start()
    theirs.close()
    return _Child(name=name, process=process, connection=ours)


@contextmanager
def _children() -> Iterator[list[_Child]]:
    """Processes that are gone when the block is left, however it is left."""
    children: list[_Child] = []
    try:
        yield children
    finally:
        for child in children:
            child.process.kill()
        for child in children:
            child.process.join()
            child.connection.close()


def _await_ready(children: Sequence[_Child], limit_s: float) -> None:
    left, deadline = list(children), time.monotonic() + limit_s
    while left:
        ready = wait([child.connection for child in left], timeout=_POLL_S)
        for child in [one for one in left if one.connection in ready]:
            _hear(child)
            left.remove(child)
        if left and time.monotonic() > deadline:
            raise MeasurementError(f"replay: {left[0].name} was not ready after {limit_s:g} s")


def _await_end(children: Sequence[_Child], board: Board, deadline: float, limit_s: float) -> None:
    left = list(children)
    while left:
        wait([child.process.sentinel for child in left], timeout=_POLL_S)
        for child in [one for one in left if one.process.exitcode is not None]:
            if child.process.exitcode:
                _hear(child)
            left.remove(child)
        if left and time.monotonic() > deadline:
            done, count = int(board.arrays().done_W.sum()), len(board.arrays().size_N)
            raise MeasurementError(
                f"replay: {done} of {count} queries were served {limit_s:g} s after the last arrival; "
                "the load is above what this machine serves"
            )


def _hear(child: _Child) -> None:
    """What a child has to say; `MeasurementError` if it failed, or is gone without a word."""
    with suppress(EOFError, OSError):
        if child.connection.poll(_LAST_WORDS_S):
            word, text = child.connection.recv()
            if word == FAILED:
                raise MeasurementError(f"replay: {child.name} failed: {text}")
            return
    child.process.join(_LAST_WORDS_S)
    raise MeasurementError(f"replay: {child.name} {_ending(child.process.exitcode)}")


def _ending(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return f"was killed ({Signals(-exitcode).name}); what it had not served is lost"
    return f"ended unasked (exit code {exitcode})"


def _trace(queries: Queries, board: Board, notes: tuple[str, ...]) -> LiveTrace:
    arrays = board.arrays()
    began_s = float(arrays.arrival_s_N[0] - queries.arrival_ms_N[0] / MS_PER_S)
    refused_N = arrays.path_N < 0
    times = [(seconds_N - began_s) * MS_PER_S for seconds_N in (arrays.sent_s_N, arrays.start_s_N, arrays.finish_s_N)]
    for times_N in times[1:]:
        times_N[refused_N] = np.nan
    return LiveTrace(
        queries=queries,
        path_N=arrays.path_N.copy(),
        sent_ms_N=times[0],
        start_ms_N=times[1],
        finish_ms_N=times[2],
        notes=notes,
    )
