"""The journal of a search: an Optuna study in one append-only file that outlives kills and torn lines."""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from planner.search.locks import KernelLock
from planner.search.objective import directions
from profiles.errors import CorruptFileError, StorageError

__all__ = ["JOURNAL", "open_study", "repair_journal"]

JOURNAL = "journal.log"
_STUDY_NAME = "search"


def open_study(directory: Path, objectives: Sequence[str]) -> optuna.Study:
    """The study in `directory`, created or resumed; a torn last line is cut off first.

    Raises:
        CorruptFileError: the journal holds something else than a journal.
        StorageError: the folder is not writable, here or at a later write.
    """
    path = directory / JOURNAL
    try:
        repair_journal(path)
        storage = JournalStorage(_WholeLines(path))
    except OSError as error:
        raise StorageError(f"{path}: cannot be opened: {error.strerror}") from error
    except (KeyError, TypeError) as error:
        raise CorruptFileError(f"{path}: is no Optuna journal: {error!r}") from error
    with _quiet():
        return optuna.create_study(
            study_name=_STUDY_NAME, storage=storage, directions=directions(objectives), load_if_exists=True
        )


def repair_journal(path: Path) -> int:
    """Cut off what follows the last newline (a write that a full disk or a power cut ended) and return its bytes.

    Optuna would glue its next line to the torn one and never read either.

    Raises:
        CorruptFileError: any other line is not JSON; the message names it.
    """
    if not path.exists():
        return 0
    lock = KernelLock(str(path))
    lock.acquire()
    try:
        body = path.read_bytes()
        whole = body.rfind(b"\n") + 1
        _check_lines(path, body[:whole])
        if whole < len(body):
            os.truncate(path, whole)
        return len(body) - whole
    finally:
        lock.release()


class _WholeLines(JournalFileBackend):
    """A journal whose last line stays whole when the disk is full; for a single writer."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), lock_obj=KernelLock(str(path)))
        self._path = path

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append all of `logs`, or nothing."""
        before = self._path.stat().st_size
        try:
            super().append_logs(logs)
        except OSError as error:
            os.truncate(self._path, before)
            raise StorageError(f"{self._path}: cannot be written: {error.strerror}") from error


def _check_lines(path: Path, body: bytes) -> None:
    for number, line in enumerate(body.splitlines(), 1):
        try:
            json.loads(line)
        except ValueError as error:
            raise CorruptFileError(f"{path}: line {number} is not JSON: {error}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna announces every study it opens; recplan reports its own progress."""
    logger = logging.getLogger("optuna")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
