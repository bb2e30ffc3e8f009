"""Memory that all processes of a replay share: what is drawn, what was decided, and when things happened.

Times are seconds of `time.perf_counter`, which all processes of a machine read alike; 0 means "not yet".

Shape suffixes: N queries, D devices, W workers (the servers of all devices).
"""

from collections.abc import Sequence
from ctypes import c_double, c_int64
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from multiprocessing.sharedctypes import RawArray
from multiprocessing.synchronize import Lock, Semaphore
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.units import MS_PER_S
from serving_sim.replay.queries import Queries

__all__ = ["END", "Board", "BoardArrays", "new_board"]

# In a device's queue: no query follows.
END = -1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BoardArrays:
    """Views of a board's memory. `queue_DN` holds each device's queries in order; `taken_D` of them have begun."""

    arrival_s_N: NDArray[np.float64]
    size_N: NDArray[np.int64]
    class_N: NDArray[np.int64]
    path_N: NDArray[np.int64]
    sent_s_N: NDArray[np.float64]
    start_s_N: NDArray[np.float64]
    finish_s_N: NDArray[np.float64]
    queue_DN: NDArray[np.int64]
    taken_D: NDArray[np.int64]
    done_W: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Board:
    """Shared memory by name with its shape, and what wakes and orders the workers of each device."""

    memory: dict[str, tuple[Any, str, tuple[int, ...]]]
    waiting_D: tuple[Semaphore, ...]
    lock_D: tuple[Lock, ...]

    def arrays(self) -> BoardArrays:
        """The memory as arrays, in any process that holds the board."""
        return BoardArrays(
            **{name: np.frombuffer(raw, dtype=kind).reshape(shape) for name, (raw, kind, shape) in self.memory.items()}
        )


def new_board(context: SpawnContext, queries: Queries, servers_D: Sequence[int]) -> Board:
    """A board with the queries; their arrivals are seconds from the start until that is known."""
    count, devices = len(queries), len(servers_D)
    floats = dict.fromkeys(("arrival_s_N", "sent_s_N", "start_s_N", "finish_s_N"), (count,))
    whole: dict[str, tuple[int, ...]] = dict.fromkeys(("size_N", "class_N", "path_N"), (count,))
    # One place more, for each worker's end.
    whole |= {"queue_DN": (devices, count + max(servers_D)), "taken_D": (devices,), "done_W": (sum(servers_D),)}
    memory: dict[str, tuple[Any, str, tuple[int, ...]]] = {
        name: (RawArray(c_double, _size(shape)), "f8", shape) for name, shape in floats.items()
    }
    memory |= {name: (RawArray(c_int64, _size(shape)), "i8", shape) for name, shape in whole.items()}
    board = Board(
        memory=memory,
        waiting_D=tuple(context.Semaphore(0) for _ in servers_D),
        lock_D=tuple(context.Lock() for _ in servers_D),
    )
    arrays = board.arrays()
    arrays.arrival_s_N[:] = queries.arrival_ms_N / MS_PER_S
    arrays.size_N[:], arrays.class_N[:] = queries.size_N, queries.class_N
    return board


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))
