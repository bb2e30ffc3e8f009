"""Where trials are kept: one append-only file that outlives kills and torn lines, or a database by URL."""

import hashlib
import json
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend

from planner.search.locks import KernelLock, run_lock
from planner.search.manifest import MANIFEST
from planner.search.objective import directions
from profiles.errors import CorruptFileError, StorageError

__all__ = ["JOURNAL", "open_study", "repair_journal", "sole_use"]

JOURNAL = "journal.log"
_STUDY_NAME = "search"


def open_study(directory: Path, objectives: Sequence[str], storage: str | None = None) -> optuna.Study:
    """The study of the search in `directory`, created or resumed.

    Its trials lie there in a journal, a torn last line of which is cut off first, or at a database's URL, under a name
    that follows from the folder's manifest, so that one database serves many searches.

    Raises:
        CorruptFileError: the journal holds something else than a journal.
        StorageError: the folder is not writable, here or at a later write, or the database cannot be opened.
    """
    kept = _journal(directory / JOURNAL) if storage is None else _database(storage)
    name = _STUDY_NAME if storage is None else f"recplan-{_digest(directory)}"
    with _quiet():
        study = optuna.create_study(
            study_name=name, storage=kept, directions=directions(objectives), load_if_exists=True
        )
    if study.metric_names is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            # optuna-dashboard would number the objectives.
            study.set_metric_names(list(objectives))
    return study


@contextmanager
def sole_use(directory: Path, storage: str | None) -> Iterator[None]:
    """Hold a study in a database alone on this machine: a search from another folder may ask the same.

    Raises:
        StorageError: another live process holds it.
    """
    if storage is None:
        yield
        return
    digest = hashlib.sha256(f"{storage} {_digest(directory)}".encode()).hexdigest()[:16]
    with run_lock(Path(tempfile.gettempdir()) / f"recplan-{os.getuid()}" / digest):
        yield


def shown_url(url: str) -> str:
    """A database's URL without the password that it may hold."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _journal(path: Path) -> BaseStorage:
    try:
        repair_journal(path)
        return JournalStorage(_WholeLines(path))
    except OSError as error:
        raise StorageError(f"{path}: cannot be opened: {error.strerror}") from error
    except (KeyError, TypeError) as error:
        raise CorruptFileError(f"{path}: is no Optuna journal: {error!r}") from error


def _database(url: str) -> BaseStorage:
    from optuna.storages import RDBStorage
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with _quiet():
            return RDBStorage(url)
    except (SQLAlchemyError, StorageInternalError, ImportError, ValueError) as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise StorageError(f"storage {shown_url(url)}: cannot be opened: {reason}") from error


def _digest(directory: Path) -> str:
    """What tells this question from others."""
    return hashlib.sha256((directory / MANIFEST).read_bytes()).hexdigest()[:12]


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
