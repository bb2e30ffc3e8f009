"""Replace a file as a whole, so that a reader sees the old one or the new one."""

import os
from contextlib import suppress
from pathlib import Path

from profiles.errors import StorageError

__all__ = ["replace_file"]


def replace_file(path: Path, body: bytes) -> None:
    """Write a temporary file beside it, force it to the disk, and rename it.

    Raises:
        StorageError: it cannot be written; a file that was there before stays as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise StorageError(error.errno, f"cannot write: {error.strerror}", str(path)) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
