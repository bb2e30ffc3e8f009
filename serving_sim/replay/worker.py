"""A worker: one server of a device, in a process of its own, with the device's models."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Semaphore
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from representations.specs import model_from_object
from serving_sim.plan import Ids, Path
from serving_sim.replay.board import END, Board
from serving_sim.replay.child import READY, parent_lives, run_child, settle
from serving_sim.replay.inputs import InputPool, draw_inputs

if TYPE_CHECKING:
    from representations.model import RecommendationModel

__all__ = ["LoadedPath", "WorkerTask", "load_path", "serve_queries"]

_WARM_UP_CALLS = 5
_POLL_S = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerTask:
    """What a worker is told: whose server it is, the paths there by index in the plan, and how to set up."""

    device: int
    worker: int
    paths: Mapping[int, Path]
    exports: Mapping[str, FilePath]
    ids: Ids
    largest: int
    threads: int
    busy_poll: bool
    seed: int
    parent: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LoadedPath:
    """A path's model with its inputs; calling it serves a query of `size` samples."""

    model: "RecommendationModel"
    pool: InputPool

    def __call__(self, size: int, place: int) -> Any:
        """The logits of `size` samples that `place` chooses from the pool."""
        return self.model(*self.pool.inputs(size, place))


def serve_queries(task: WorkerTask, board: Board, connection: Connection, cores: tuple[int, ...]) -> None:
    """The whole life of a worker process."""
    run_child(connection, cores, partial(_serve, task, board, connection))


def load_path(path: Path, export: FilePath | None, ids: Ids, largest: int, seed: int) -> LoadedPath:
    """The path's model, with random weights or those of an exported file, and warmed up.

    Raises:
        InputError: the plan's model or the file cannot be read.
    """
    from representations.build import build_model
    from representations.model_file import load_model

    spec = model_from_object(path.model or {})
    model = build_model(spec, seed) if export is None else load_model(export)
    loaded = LoadedPath(model=model.eval(), pool=draw_inputs(model.spec, ids, largest, seed))
    _warm_up(loaded, largest)
    return loaded


def _warm_up(loaded: LoadedPath, largest: int) -> None:
    import torch

    with torch.inference_mode():
        for size in (largest, *(2**power for power in range(largest.bit_length()))):
            for place in range(_WARM_UP_CALLS):
                loaded(min(size, largest), place)


def _serve(task: WorkerTask, board: Board, connection: Connection) -> None:
    import torch

    torch.set_num_threads(task.threads)
    loaded = {
        index: load_path(path, task.exports.get(path.name), task.ids, task.largest, task.seed)
        for index, path in task.paths.items()
    }
    settle()
    connection.send((READY, ""))
    with torch.inference_mode():
        _loop(task, board, loaded)


def _loop(task: WorkerTask, board: Board, loaded: Mapping[int, Callable[[int, int], Any]]) -> None:
    """Take the device's next query, serve it, say when it began and ended."""
    arrays, device = board.arrays(), task.device
    waiting, lock, clock = board.waiting_D[device], board.lock_D[device], time.perf_counter
    queue_N = arrays.queue_DN[device]
    acquire = _acquire_polling if task.busy_poll else _acquire_sleeping
    while True:
        if not acquire(waiting):
            if not parent_lives(task.parent):
                return
            continue
        with lock:
            query = int(queue_N[arrays.taken_D[device]])
            arrays.taken_D[device] += 1
            if query != END:
                arrays.start_s_N[query] = clock()
        if query == END:
            return
        loaded[int(arrays.path_N[query])](int(arrays.size_N[query]), query)
        arrays.finish_s_N[query] = clock()
        arrays.done_W[task.worker] += 1


def _acquire_sleeping(waiting: Semaphore) -> bool:
    return waiting.acquire(timeout=_POLL_S)


def _acquire_polling(waiting: Semaphore) -> bool:
    """Keep the core awake: one that sleeps is slow to wake and, if virtual, may be given to others meanwhile."""
    until_s = time.perf_counter() + _POLL_S
    while time.perf_counter() < until_s:
        if waiting.acquire(block=False):
            return True
    return False
