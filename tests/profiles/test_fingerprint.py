import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import torch

from profiles.fingerprint import _git_revision, _version, current_fingerprint, current_timestamp


def test_it_says_what_measured_here() -> None:
    fingerprint = current_fingerprint()
    assert (fingerprint.device, fingerprint.python) == ("local-cpu", platform.python_version())
    assert fingerprint.threads == torch.get_num_threads()
    libraries = dict(fingerprint.libraries)
    versions = {name: version(name) for name in ("llvmlite", "numba", "numpy", "recplan", "torch")}
    assert libraries.items() >= versions.items()
    assert libraries["cpu capability"] == torch.backends.cpu.get_cpu_capability()
    assert {libraries["mkl"], libraries["onednn"]} <= {"yes", "no"}


def test_rows_are_not_reused_on_fewer_cores() -> None:
    cores = os.sched_getaffinity(0)
    before = current_fingerprint(threads=1).device_key()
    try:
        os.sched_setaffinity(0, {min(cores)})
        assert (current_fingerprint(threads=1).device_key() == before) == (len(cores) == 1)
    finally:
        os.sched_setaffinity(0, cores)
    assert current_fingerprint(threads=1).device_key() == before


def test_the_fingerprint_imports_no_compiler() -> None:
    code = (
        "import sys; from profiles import current_fingerprint; current_fingerprint(); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_thread_count_may_be_given() -> None:
    assert current_fingerprint(threads=7).threads == 7


def test_timestamps_sort_as_texts() -> None:
    first, second = current_timestamp(), current_timestamp()
    assert len(first) == len(second)
    assert first <= second
    assert datetime.fromisoformat(first) <= datetime.now(UTC)


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert not _version("no-such-package")


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


def test_the_revision_of_a_work_tree_is_its_own(tmp_path: Path) -> None:
    own = tmp_path / "main" / ".git" / "worktrees" / "side"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("abc\n")
    (own / "commondir").write_text("../..\n")
    side = tmp_path / "side"
    side.mkdir()
    (side / ".git").write_text(f"gitdir: {own}\n")
    assert _git_revision(side) == "abc"
    (own / "HEAD").write_text("ref: refs/heads/topic\n")
    (tmp_path / "main" / ".git" / "refs" / "heads").mkdir(parents=True)
    (tmp_path / "main" / ".git" / "refs" / "heads" / "topic").write_text("def\n")
    assert _git_revision(side) == "def"
