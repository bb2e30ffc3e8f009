"""Files that are either whole or not there: written beside, synced, then renamed."""

import os
from pathlib import Path

from profiles.errors import StorageError

__all__ = ["make_folder", "replace_file"]


def make_folder(folder: Path) -> Path:
    """The folder, made where it is not there.

    Raises:
        StorageError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(error.errno, f"cannot make the folder: {error.strerror}", str(folder)) from error
    return folder


def replace_file(path: Path, content: str | bytes) -> Path:
    """Replace the file's content atomically; what was there before stays when writing fails.

    Raises:
        StorageError: the disk is full or the folder is not writable.
    """
    body = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(error.errno, f"cannot write: {error.strerror}", str(path)) from error
    return path
