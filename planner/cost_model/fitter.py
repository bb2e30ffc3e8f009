"""Fits that do not depend on one another: in turn, or shared with other processes, each on one thread."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

from planner.cost_model.one_thread import one_thread

__all__ = ["Fitter", "fitting_on", "usable_cores"]

_NUMERICAL = ("scipy.optimize", "sklearn.ensemble")
# Processes take about two seconds to start: those that fits of less would be shared with come too late.
_START_S = 1.5
T = TypeVar("T")


class Fitter:
    """Fits in this process, and in `helpers` beside it once fits have taken long enough; the results are the same."""

    def __init__(self, helpers: ProcessPoolExecutor | None = None, *, patience_s: float = _START_S) -> None:
        self._helpers, self._patience_s = helpers, patience_s
        self._spent_s = 0.0

    def each(self, fit: Callable[..., T], tasks: Sequence[tuple[Any, ...]]) -> list[T]:
        """`fit` of every task's arguments, in their order; for helpers, all must be picklable."""
        if not tasks:
            return []
        with one_thread(*_NUMERICAL):
            done: list[T] = []
            while len(done) < len(tasks) and not self._is_worth_help(len(tasks) - len(done)):
                start = time.perf_counter()
                done.append(fit(*tasks[len(done)]))
                self._spent_s += time.perf_counter() - start
            return [*done, *self._shared(fit, tasks[len(done) :])]

    def _is_worth_help(self, left: int) -> bool:
        return self._helpers is not None and left > 1 and self._spent_s >= self._patience_s

    def _shared(self, fit: Callable[..., T], tasks: Sequence[tuple[Any, ...]]) -> list[T]:
        """Helpers take tasks from the front, this process from the back."""
        if self._helpers is None or not tasks:
            return []
        pending = [self._helpers.submit(_on_one_thread, fit, task) for task in tasks]
        here: list[T] = []
        while len(here) < len(tasks) and pending[-1 - len(here)].cancel():
            here.append(fit(*tasks[-1 - len(here)]))
        return [*(one.result() for one in pending[: len(tasks) - len(here)]), *reversed(here)]


@contextmanager
def fitting_on(workers: int, *, patience_s: float = _START_S) -> Iterator[Fitter]:
    """A fitter for so many processes, this one among them.

    The others start the caller's main module anew, which takes seconds: not before fits have taken `patience_s`.
    """
    if workers < 2:
        yield Fitter()
        return
    helpers = ProcessPoolExecutor(workers - 1, mp_context=get_context("spawn"))
    try:
        yield Fitter(helpers, patience_s=patience_s)
    finally:
        helpers.shutdown(cancel_futures=True)


def usable_cores() -> int:
    """How many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _on_one_thread(fit: Callable[..., T], task: tuple[Any, ...]) -> T:
    with one_thread(*_NUMERICAL):
        return fit(*task)
