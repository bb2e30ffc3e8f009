"""The profile store: a folder of JSON-lines parts and one compacted Parquet file, keyed by content hash."""

import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from profiles.errors import CorruptFileError, InputError, StorageError
from profiles.files import make_folder
from profiles.parts import append_line, read_lines, write_lines
from profiles.records import ComponentProfile
from profiles.visits import Visit

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARQUET_NAME", "ProfileStore", "newest_rows", "require_profiles"]

PARQUET_NAME = "profiles.parquet"
_ROWS, _VISITS = "part", "visits"
T = TypeVar("T")


class ProfileStore:
    """Measurements in a folder; several processes may append at once, each to a part of its own.

    A row is on the disk when `append` returns. Of rows with one content hash the newest counts. Visits lie in parts of
    their own until their row is compacted.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory)
        self._own: dict[str, Path] = {}
        self._writer = 0

    def append(self, profile: ComponentProfile) -> None:
        """Write one row; a `StorageError` leaves all earlier rows valid."""
        self._append(_ROWS, profile.to_row())

    def append_visit(self, visit: Visit) -> None:
        """Write one visit of a component whose row is not there yet; a `StorageError` leaves all earlier ones valid."""
        self._append(_VISITS, visit.to_row())

    def load(self) -> list[ComponentProfile]:
        """Every row, one per content hash, the oldest first.

        Raises:
            CorruptFileError: a bad line other than a torn last one, or an unreadable Parquet file; names the place.
        """
        return newest_rows(self.history())

    def history(self) -> list[ComponentProfile]:
        """Every row, those that newer ones replace included until they are compacted away; the oldest first.

        Raises:
            CorruptFileError: as `load`.
        """
        # Parts before Parquet: a compaction in between then shows a row twice, never not at all.
        recent = [row for part in self._parts(_ROWS) for row in _read_part(part, ComponentProfile.from_row)]
        return sorted((*self._read_parquet(), *recent), key=lambda row: row.fingerprint.timestamp)

    def visits(self) -> list[Visit]:
        """Every visit that was made and not compacted away, the oldest first.

        Raises:
            CorruptFileError: a bad line other than a torn last one; names the place.
        """
        found = {visit: None for part in self._parts(_VISITS) for visit in _read_part(part, Visit.from_row)}
        return sorted(found, key=lambda visit: visit.timestamp)

    def known(self) -> frozenset[str]:
        """The content hashes that have a row."""
        return frozenset(profile.content_hash for profile in self.load())

    def compact(self) -> Path:
        """Move all rows into the Parquet file, which is replaced atomically, and remove the parts; needs Polars.

        Visits that went into a row are dropped, the others kept.

        Raises:
            StorageError: the file cannot be written; the parts stay as they were.
        """
        from profiles.parquet import write_profiles

        path = self.directory / PARQUET_NAME
        make_folder(self.directory)
        with self._locked(fcntl.LOCK_EX):
            parts, rows = self._parts(_ROWS), self.load()
            write_profiles(path, rows)
            for part in parts:
                part.unlink()
            self._drop_visits(rows)
        return path

    def drop_visits(self) -> None:
        """Remove the visits that went into a row, as compacting does.

        Raises:
            StorageError: the others cannot be written anew; all stay.
        """
        make_folder(self.directory)
        with self._locked(fcntl.LOCK_EX):
            self._drop_visits(self.load())

    def frame(self) -> "pl.DataFrame":
        """All rows as a Polars frame with the flat columns of `ComponentProfile.to_flat`."""
        from profiles.parquet import profile_frame

        return profile_frame(self.load())

    def _drop_visits(self, rows: Sequence[ComponentProfile]) -> None:
        parts, row_times = self._parts(_VISITS), {row.content_hash: row.fingerprint.timestamp for row in rows}
        # A later visit than the row is one of a newer row to come.
        kept = [visit.to_row() for visit in self.visits() if visit.timestamp > row_times.get(visit.content_hash, "")]
        # Written before the old ones go: a kill in between leaves equal visits, which are read once.
        if kept:
            write_lines(self._new_part(_VISITS), kept)
        for part in parts:
            part.unlink()

    def _parts(self, kind: str) -> list[Path]:
        return sorted(self.directory.glob(f"{kind}-*.jsonl"))

    def _read_parquet(self) -> list[ComponentProfile]:
        path = self.directory / PARQUET_NAME
        if not path.exists():
            return []
        from profiles.parquet import read_profiles

        return read_profiles(path)

    def _append(self, kind: str, row: dict[str, Any]) -> None:
        part = self._own_part(kind)
        with self._locked(fcntl.LOCK_SH):
            append_line(part, row)

    def _own_part(self, kind: str) -> Path:
        # A forked child must not share its parent's parts.
        if self._writer != os.getpid():
            self._own, self._writer = {}, os.getpid()
        if kind not in self._own:
            make_folder(self.directory)
            self._own[kind] = self._new_part(kind)
        return self._own[kind]

    def _new_part(self, kind: str) -> Path:
        return self.directory / f"{kind}-{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"

    @contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        """Appending shares the lock, compacting owns it; the kernel frees it when its process dies."""
        path = self.directory / ".lock"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StorageError(error.errno, f"cannot lock: {error.strerror}", str(path)) from error
        try:
            fcntl.flock(descriptor, kind)
            yield
        finally:
            os.close(descriptor)


def require_profiles(folder: Path, what: str) -> Path:
    """The folder, which must be there; `what` is the option or key that named it.

    Raises:
        InputError: there is none, or it is a file.
    """
    if not folder.is_dir():
        found = f"{folder} is a file" if folder.exists() else f"there is no {folder}"
        raise InputError(f"{what}: must be a folder of profiles, but {found}")
    return folder


def newest_rows(history: Iterable[ComponentProfile]) -> list[ComponentProfile]:
    """Of rows with one content hash the last, in the order of a `ProfileStore.history`."""
    newest: dict[str, ComponentProfile] = {}
    for profile in history:
        newest.pop(profile.content_hash, None)
        newest[profile.content_hash] = profile
    return list(newest.values())


def _read_part(path: Path, parse: Callable[[Mapping[str, Any]], T]) -> list[T]:
    parsed = []
    try:
        for number, row in read_lines(path):
            try:
                parsed.append(parse(row))
            except InputError as error:
                raise CorruptFileError(f"{path}:{number}: {error}") from error
    except FileNotFoundError:
        # Compacted since the folder was listed.
        return []
    return parsed
