"""The profile store: a folder of JSON-lines parts and one compacted Parquet file, keyed by content hash."""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from profiles.errors import CorruptFileError, InputError, StorageError
from profiles.files import make_folder
from profiles.parts import append_line, read_lines
from profiles.records import ComponentProfile

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PARQUET_NAME", "ProfileStore"]

PARQUET_NAME = "profiles.parquet"


class ProfileStore:
    """Measurements in a folder; several processes may append at once, each to a part of its own.

    A row is on the disk when `append` returns. Of rows with one content hash the newest counts.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory)
        self._part: Path | None = None
        self._writer = 0

    def append(self, profile: ComponentProfile) -> None:
        """Write one row; a `StorageError` leaves all earlier rows valid."""
        part = self._own_part()
        with self._locked(fcntl.LOCK_SH):
            append_line(part, profile.to_row())

    def load(self) -> list[ComponentProfile]:
        """Every row, one per content hash, the oldest first.

        Raises:
            CorruptFileError: a bad line other than a torn last one, or an unreadable Parquet file; names the place.
        """
        # Parts before Parquet: a compaction in between then shows a row twice, never not at all.
        recent = [profile for part in self._parts() for profile in _read_part(part)]
        compacted = self._read_parquet()
        newest: dict[str, ComponentProfile] = {}
        for profile in sorted((*compacted, *recent), key=lambda row: row.fingerprint.timestamp):
            newest.pop(profile.content_hash, None)
            newest[profile.content_hash] = profile
        return list(newest.values())

    def known(self) -> frozenset[str]:
        """The content hashes that have a row."""
        return frozenset(profile.content_hash for profile in self.load())

    def compact(self) -> Path:
        """Move all rows into the Parquet file, which is replaced atomically, and remove the parts; needs Polars.

        Raises:
            StorageError: the file cannot be written; the parts stay as they were.
        """
        from profiles.parquet import write_profiles

        path = self.directory / PARQUET_NAME
        make_folder(self.directory)
        with self._locked(fcntl.LOCK_EX):
            parts = self._parts()
            write_profiles(path, self.load())
            for part in parts:
                part.unlink()
        return path

    def frame(self) -> "pl.DataFrame":
        """All rows as a Polars frame with the flat columns of `ComponentProfile.to_flat`."""
        from profiles.parquet import profile_frame

        return profile_frame(self.load())

    def _parts(self) -> list[Path]:
        return sorted(self.directory.glob("part-*.jsonl"))

    def _read_parquet(self) -> list[ComponentProfile]:
        path = self.directory / PARQUET_NAME
        if not path.exists():
            return []
        from profiles.parquet import read_profiles

        return read_profiles(path)

    def _own_part(self) -> Path:
        # A forked child must not share its parent's part.
        if self._part is None or self._writer != os.getpid():
            make_folder(self.directory)
            self._writer = os.getpid()
            self._part = self.directory / f"part-{time.time_ns():020d}-{self._writer}-{secrets.token_hex(4)}.jsonl"
        return self._part

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


def _read_part(path: Path) -> list[ComponentProfile]:
    profiles = []
    try:
        for number, row in read_lines(path):
            try:
                profiles.append(ComponentProfile.from_row(row))
            except InputError as error:
                raise CorruptFileError(f"{path}:{number}: {error}") from error
    except FileNotFoundError:
        # Compacted since the folder was listed.
        return []
    return profiles
