"""What every process of a replay does alike: tell its parent, stay on its cores, keep the collector out."""

import gc
import os
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Literal

__all__ = ["FAILED", "READY", "parent_lives", "run_child", "settle"]

READY, FAILED = "ready", "failed"
Word = tuple[Literal["ready", "failed"], str]


def run_child(connection: Connection, cores: tuple[int, ...], work: Callable[[], None]) -> None:
    """Do the work of a process pinned to `cores` (anywhere where empty); what it raises goes to the parent."""
    try:
        if cores:
            os.sched_setaffinity(0, cores)
        work()
    except KeyboardInterrupt:
        sys.exit(130)
    except BaseException as error:
        connection.send((FAILED, "".join(traceback.format_exception_only(error)).strip()))
        raise SystemExit(1) from error


def settle() -> None:
    """No collection from here on: one of all objects takes longer than many queries."""
    gc.collect()
    gc.freeze()
    gc.disable()


def parent_lives(parent: int) -> bool:
    """Whether the process that started this one is still there."""
    return os.getppid() == parent
