"""Fits that do not depend on one another: in turn, or shared out over processes, each on one thread."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import starmap
from multiprocessing import get_context
from typing import Any, TypeVar

from planner.cost_model.one_thread import one_thread

__all__ = ["Fitter", "fitting_on", "usable_cores"]

_NUMERICAL = ("scipy.optimize", "sklearn.ensemble")
T = TypeVar("T")


class Fitter:
    """Fits in this process, or in `processes`; the results are the same."""

    def __init__(self, processes: ProcessPoolExecutor | None = None) -> None:
        self._processes = processes

    def each(self, fit: Callable[..., T], tasks: Sequence[tuple[Any, ...]]) -> list[T]:
        """`fit` of every task's arguments, in their order; for processes, all must be picklable."""
        if self._processes is None:
            with one_thread(*_NUMERICAL):
                return list(starmap(fit, tasks))
        return list(self._processes.map(partial(_on_one_thread, fit), tasks))


@contextmanager
def fitting_on(workers: int) -> Iterator[Fitter]:
    """A fitter with so many new processes, which start the caller's main module anew; with one worker, without any."""
    if workers < 2:
        yield Fitter()
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as processes:
        yield Fitter(processes)


def usable_cores() -> int:
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_one_thread(fit: Callable[..., T], task: tuple[Any, ...]) -> T:
    with one_thread(*_NUMERICAL):
        return fit(*task)
