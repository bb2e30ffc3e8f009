"""The folder that `--out` names: made and tried before anything is computed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from profiles.errors import InputError, StorageError

__all__ = ["naming_out", "try_out"]


@contextmanager
def naming_out() -> Iterator[None]:
    """Complaints about the folder begin with the option."""
    try:
        yield
    except InputError as error:
        raise InputError(f"--out: {error}") from error
    except StorageError as error:
        raise StorageError(error.errno, error.strerror, f"--out: {error.filename}") from error


def try_out(folder: Path) -> None:
    """Make it and write into it.

    Raises:
        StorageError: it cannot be made or written to; names the option.
    """
    from profiles.files import make_folder, replace_file

    with naming_out():
        replace_file(make_folder(folder) / ".recplan", "").unlink()
