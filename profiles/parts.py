"""JSON-lines parts: append-only files that survive being killed at any moment; standard library only."""

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from profiles.errors import CorruptFileError, StorageError
from profiles.files import make_folder, replace_file

__all__ = ["TornLineWarning", "append_line", "read_lines", "write_lines"]


class TornLineWarning(UserWarning):
    """The last line of a file was cut off while it was written (kill, full disk, power); it is dropped."""


def append_line(path: Path, row: dict[str, Any]) -> None:
    """Append one JSON line and force it to the disk; a failed write is taken back.

    Raises:
        StorageError: the disk is full or the file is not writable; earlier lines stay valid.
    """
    line = _line(row)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise _storage_error(path, error) from error
    try:
        _write_whole(descriptor, line)
        os.fsync(descriptor)
    except OSError as error:
        raise _storage_error(path, error) from error
    finally:
        os.close(descriptor)


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of every line; a torn last line is dropped with a `TornLineWarning`.

    Raises:
        CorruptFileError: any other line that is no JSON object.
    """
    *lines, rest = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        yield number, _parse(path, number, line)
    if rest:
        try:
            yield len(lines) + 1, _parse(path, len(lines) + 1, rest)
        except CorruptFileError:
            message = f"{path}:{len(lines) + 1}: the last line is torn ({len(rest)} bytes) and is dropped"
            warnings.warn(message, TornLineWarning, stacklevel=2)


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Replace a file of JSON lines as a whole; a `StorageError` leaves the old one."""
    make_folder(path.parent)
    replace_file(path, b"".join(map(_line, rows)))


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise CorruptFileError(f"{path}:{number}: not valid JSON: {error}") from error
    if not isinstance(row, dict):
        raise CorruptFileError(f"{path}:{number}: must be a JSON object, but is a {type(row).__name__}")
    return row


def _write_whole(descriptor: int, line: bytes) -> None:
    size = os.fstat(descriptor).st_size
    written = 0
    try:
        while written < len(line):
            written += os.write(descriptor, line[written:])
    except OSError:
        if written:
            os.ftruncate(descriptor, size)
        raise


def _storage_error(path: Path, error: OSError) -> StorageError:
    return StorageError(error.errno, f"cannot append: {error.strerror}", str(path))
