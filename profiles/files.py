"""Files that are either whole or not there: written beside, synced, then renamed. Standard library only."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from profiles.errors import StorageError

__all__ = ["make_folder", "replace_file", "replacing"]


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


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A draft beside `path` to write to; it takes the path's place when the block ends, and vanishes if that fails.

    Raises:
        StorageError: the disk is full or the folder is not writable; what was there before stays.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield draft
        _sync(draft)
        draft.replace(path)
        _sync(path.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(error.errno, f"cannot write: {reason}", str(path)) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def replace_file(path: Path, content: str | bytes) -> Path:
    """Replace the file's content atomically.

    Raises:
        StorageError: as `replacing`.
    """
    with replacing(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
