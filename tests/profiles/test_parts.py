import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from profiles.errors import CorruptFileError, StorageError
from profiles.parts import TornLineWarning, append_line, read_lines, write_lines


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """A real disk limit: a write beyond it is cut short, the next one fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_lines_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "part.jsonl"
    for number in range(3):
        append_line(path, {"x": number})
    assert list(read_lines(path)) == [(1, {"x": 0}), (2, {"x": 1}), (3, {"x": 2})]


@pytest.mark.parametrize("kept_bytes", range(1, 8))
def test_a_torn_last_line_is_dropped_with_a_warning(tmp_path: Path, kept_bytes: int) -> None:
    path = tmp_path / "part.jsonl"
    path.write_bytes(b'{"x":0}\n' + b'{"y":10}'[:kept_bytes])
    with pytest.warns(TornLineWarning, match=r"part.jsonl:2: the last line is torn"):
        assert list(read_lines(path)) == [(1, {"x": 0})]


def test_a_last_line_that_lacks_only_its_newline_counts(tmp_path: Path) -> None:
    path = tmp_path / "part.jsonl"
    path.write_bytes(b'{"x":0}\n{"y":1}')
    assert [row for _, row in read_lines(path)] == [{"x": 0}, {"y": 1}]


@pytest.mark.parametrize("bad", [b'{"x":', b"[1]", b"", b"\xff"])
def test_a_bad_line_in_the_middle_names_file_and_line(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "part.jsonl"
    path.write_bytes(b'{"x":0}\n' + bad + b'\n{"x":1}\n')
    with pytest.raises(CorruptFileError, match=r"part.jsonl:2: "):
        list(read_lines(path))


def test_a_full_disk_names_the_file() -> None:
    with pytest.raises(StorageError, match="No space left on device: '/dev/full'"):
        append_line(Path("/dev/full"), {"x": 0})


def test_a_write_cut_short_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "part.jsonl"
    append_line(path, {"x": 0})
    with file_size_limit(12), pytest.raises(StorageError, match=r"part\.jsonl"):
        append_line(path, {"x": 1})
    append_line(path, {"x": 2})
    assert [row for _, row in read_lines(path)] == [{"x": 0}, {"x": 2}]


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot append"):
        append_line(tmp_path / "file" / "part.jsonl", {})


def test_replacing_a_file_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_lines(path, [{"x": 0}])
    with file_size_limit(10), pytest.raises(StorageError, match=r"cannot write.*rows.jsonl"):
        write_lines(path, [{"x": 1}, {"x": 2}])
    assert list(read_lines(path)) == [(1, {"x": 0})]
    assert list(tmp_path.iterdir()) == [path]
