import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import torch

from profiles.fingerprint import _git_revision, _version, current_fingerprint, current_timestamp


def test_it_says_what_measured_here() -> None:
    fingerprint = current_fingerprint()
    assert (fingerprint.device, fingerprint.python) == ("local-cpu", platform.python_version())
    assert fingerprint.threads == torch.get_num_threads()
    assert dict(fingerprint.libraries) == {name: version(name) for name in ("numpy", "recplan", "torch")}


def test_the_thread_count_may_be_given() -> None:
    assert current_fingerprint(threads=7).threads == 7


def test_timestamps_sort_as_texts() -> None:
    first, second = current_timestamp(), current_timestamp()
    assert len(first) == len(second)
    assert first <= second
    assert datetime.fromisoformat(first) <= datetime.now(UTC)


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert _version("no-such-package") == "not installed"


def test_the_revision_is_read_from_head_branch_or_packed_references(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    assert not _git_revision(tmp_path)
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("abc\n")
    assert _git_revision(tmp_path) == "abc"
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text("# pack-refs with: peeled\n111 refs/heads/other\n222 refs/heads/main\n^333\n")
    assert _git_revision(tmp_path) == "222"
    (git / "packed-refs").write_text("")
    assert not _git_revision(tmp_path)
    (git / "refs" / "heads" / "main").write_text("def\n")
    assert _git_revision(tmp_path) == "def"
