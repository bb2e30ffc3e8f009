import fcntl
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from optuna.trial import TrialState

from planner.search.locks import KernelLock, run_lock
from planner.search.storage import JOURNAL, open_study, repair_journal
from profiles.errors import CorruptFileError, StorageError

OBJECTIVES = ("auc", "latency_ms")


@contextmanager
def file_size_limit(most: int) -> Iterator[None]:
    """Writes beyond `most` bytes of a file fail, as they do on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def finish_one(directory: Path) -> None:
    study = open_study(directory, OBJECTIVES)
    study.ask().suggest_categorical("dim", (1, 2))
    study.tell(len(study.trials) - 1, [0.7, 1.0])


def test_a_study_is_resumed_from_its_file(tmp_path: Path) -> None:
    finish_one(tmp_path)
    assert [trial.values for trial in open_study(tmp_path, OBJECTIVES).trials] == [[0.7, 1.0]]


def test_objectives_bear_their_names_for_whoever_reads_the_study(tmp_path: Path) -> None:
    open_study(tmp_path, OBJECTIVES)
    assert open_study(tmp_path, OBJECTIVES).metric_names == list(OBJECTIVES)


@pytest.mark.parametrize("cut", [1, 37, 120])
def test_a_torn_last_line_is_cut_off_and_the_study_goes_on(tmp_path: Path, cut: int) -> None:
    finish_one(tmp_path)
    finish_one(tmp_path)
    os.truncate(tmp_path / JOURNAL, (tmp_path / JOURNAL).stat().st_size - cut)
    finish_one(tmp_path)
    states = [trial.state for trial in open_study(tmp_path, OBJECTIVES).trials]
    assert states[0] == states[-1] == TrialState.COMPLETE
    for line in (tmp_path / JOURNAL).read_text().splitlines():
        json.loads(line)


def test_a_full_disk_is_told_and_leaves_the_journal_whole(tmp_path: Path) -> None:
    study = open_study(tmp_path, OBJECTIVES)
    whole = (tmp_path / JOURNAL).read_bytes()
    with file_size_limit(len(whole) + 20), pytest.raises(StorageError, match=r"journal\.log: cannot be written"):
        study.ask()
    assert (tmp_path / JOURNAL).read_bytes() == whole
    finish_one(tmp_path)


def test_repairing_a_whole_or_missing_journal_does_nothing(tmp_path: Path) -> None:
    assert repair_journal(tmp_path / JOURNAL) == 0
    finish_one(tmp_path)
    assert repair_journal(tmp_path / JOURNAL) == 0


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text('{"op_code": 0}\nnot json\n{}\n')
    with pytest.raises(CorruptFileError, match=r"journal\.log: line 2 is not JSON"):
        open_study(tmp_path, OBJECTIVES)


def test_json_that_is_no_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text('{"op_code": 0}\n')
    with pytest.raises(CorruptFileError, match="is no Optuna journal"):
        open_study(tmp_path, OBJECTIVES)


def test_a_journal_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).mkdir()
    with pytest.raises(StorageError, match=JOURNAL):
        open_study(tmp_path, OBJECTIVES)


def test_the_journal_lock_keeps_others_out_until_released(tmp_path: Path) -> None:
    lock = KernelLock(str(tmp_path / JOURNAL))
    lock.acquire()
    with (tmp_path / f"{JOURNAL}.lock").open() as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.release()
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lock.release()


def test_a_folder_in_use_is_refused_by_name(tmp_path: Path) -> None:
    in_use = rf"run\.lock: another search \(process {os.getpid()}\)"
    with run_lock(tmp_path), pytest.raises(StorageError, match=in_use), run_lock(tmp_path):
        pass
    with run_lock(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file"), run_lock(tmp_path / "file" / "search"):
        pass
