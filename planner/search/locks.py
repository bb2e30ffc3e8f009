"""Locks that the kernel lets go of when their holder dies, however it dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from optuna.storages.journal import JournalFileOpenLock

from profiles.errors import StorageError

__all__ = ["KernelLock", "run_lock"]

RUN_LOCK = "run.lock"


class KernelLock(JournalFileOpenLock):
    """A journal lock by `flock`: Optuna's own are files that a killed run leaves behind for 30 s."""

    def __init__(self, filepath: str) -> None:
        super().__init__(filepath, grace_period=None)
        self._path = f"{filepath}.lock"
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Wait for the lock and take it."""
        descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let go of the lock; the file stays, since removing it would let two holders in."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@contextmanager
def run_lock(directory: Path) -> Iterator[None]:
    """Hold the search in `directory` alone for as long as the block runs.

    Raises:
        StorageError: another live process holds it, or the folder is not writable.
    """
    path = directory / RUN_LOCK
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        _take(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
        who = f" (process {holder})" if holder else ""
        raise StorageError(
            f"{path}: another search{who} is running in this folder; wait for it or use another"
        ) from None
    with suppress(OSError):  # The number is only told to others: a full disk need not stop the search here.
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
