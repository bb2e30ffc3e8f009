from pathlib import Path

import pytest

from profiles.errors import StorageError
from profiles.files import make_folder, replace_file, replacing
from tests.profiles.test_parts import file_size_limit


def test_a_file_is_replaced_by_text_or_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert replace_file(path, "µ").read_bytes() == "µ".encode()
    assert replace_file(path, b"x").read_bytes() == b"x"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = replace_file(tmp_path / "file", "old")
    with file_size_limit(10), pytest.raises(StorageError, match=r"cannot write: File too large: .*file"):
        replace_file(path, "a longer text")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_draft_vanishes_when_its_writer_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "file") as draft:
        draft.write_text(str(1 // 0))
    assert list(tmp_path.iterdir()) == []


def test_folders_are_made_or_complained_about(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "a" / "b")
    assert make_folder(folder).is_dir()
    replace_file(tmp_path / "file", "")
    with pytest.raises(StorageError, match="cannot make the folder: Not a directory"):
        make_folder(tmp_path / "file" / "below")
