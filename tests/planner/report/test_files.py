import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planner.report.files import make_folder, replace_file
from profiles.errors import StorageError


@contextmanager
def no_file_longer_than(count: int) -> Iterator[None]:
    """Writing more than `count` bytes fails in the operating system, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def test_the_content_is_replaced_whole(tmp_path: Path) -> None:
    replace_file(tmp_path / "a.txt", "old")
    assert replace_file(tmp_path / "a.txt", "new µ").read_text(encoding="utf-8") == "new µ"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = replace_file(tmp_path / "a.txt", "old")
    with no_file_longer_than(100), pytest.raises(StorageError, match=r"a\.txt"):
        replace_file(file, "x" * 1000)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_in_the_way_of_a_file_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StorageError, match="cannot make the folder"):
        make_folder(tmp_path / "taken" / "inner")
