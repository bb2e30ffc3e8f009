"""A search that is killed again and again, as a whole process."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from optuna.trial import TrialState

from planner.search import load_search, run_search
from planner.search.candidate import candidate_key
from planner.search.storage import JOURNAL, open_study
from tests.planner.search.closed_form import RungedTrainer, make_task, predict, train

ROOT = Path(__file__).parents[3]
TRIALS = 16
SLOW_SEARCH = f"""
import sys, time
from pathlib import Path
from planner.search import run_search
from tests.planner.search.closed_form import make_task, predict, train

def slow(spec, seed):
    time.sleep(0.05)
    return train(spec, seed)

run_search(make_task(), predict, slow, directory=Path(sys.argv[1]), trials={TRIALS})
"""


GUIDED_SEARCH = """
import sys, time
from pathlib import Path
from planner.search import run_search
from tests.planner.search.closed_form import RungedTrainer, make_task, predict

class Slow(RungedTrainer):
    def train_rung(self, spec, seed, step):
        time.sleep(0.1)
        return super().train_rung(spec, seed, step)

run_search(make_task(), predict, Slow(), directory=Path(sys.argv[1]), trials=14, sampler="guided")
"""


def start(directory: Path, program: str = SLOW_SEARCH) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, str(directory)], cwd=ROOT)


def wait_for_growth(process: subprocess.Popen[bytes], path: Path, lines: int) -> None:
    before = count_lines(path)
    while process.poll() is None and count_lines(path) < before + lines:
        time.sleep(0.005)


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def finished(path: Path) -> set[int]:
    """The trials whose record is in the journal."""
    lines = path.read_bytes().splitlines()
    return {line["trial_id"] for line in map(json.loads, lines) if "record" in line.get("user_attr", {})}


def test_kills_lose_no_finished_trial_and_leave_none_twice(tmp_path: Path) -> None:
    directory, journal = tmp_path / "killed", tmp_path / "killed" / JOURNAL
    for lines in (25, 31, 38):
        process = start(directory)
        wait_for_growth(process, journal, lines)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = finished(journal)
        with journal.open("ab") as file:
            file.write(b'{"op_code":4,"torn')
        resumed = run_search(make_task(), predict, train, directory=directory, trials=max(1, len(kept)))
        assert {trial.number for trial in resumed.trials} >= kept
    result = run_search(make_task(), predict, train, directory=directory, trials=TRIALS)
    uninterrupted = run_search(make_task(), predict, train, directory=tmp_path / "whole", trials=TRIALS)
    assert len({candidate_key(trial.model) for trial in result.trials}) == TRIALS
    assert [trial.choices for trial in result.trials] == [trial.choices for trial in uninterrupted.trials]
    assert load_search(directory) == result
    states = {trial.state for trial in open_study(directory, result.objectives).trials}
    assert states <= {TrialState.COMPLETE, TrialState.FAIL}


@pytest.mark.slow
def test_ten_kills_at_random_moments_end_with_the_same_trainings_finished(tmp_path: Path) -> None:
    directory, journal = tmp_path / "killed", tmp_path / "killed" / JOURNAL
    rng, kept = random.Random(0), set[int]()
    for _ in range(10):
        process = start(directory, GUIDED_SEARCH)
        wait_for_growth(process, journal, rng.randint(4, 30))
        time.sleep(rng.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept |= finished(journal)
    result = run_search(make_task(), predict, RungedTrainer(), directory=directory, trials=14, sampler="guided")
    whole = run_search(make_task(), predict, RungedTrainer(), directory=tmp_path / "whole", trials=14, sampler="guided")
    assert {trial.number for trial in result.trials} >= kept
    assert sorted(t.model.name for t in result.feasible) == sorted(t.model.name for t in whole.feasible)
    assert len({candidate_key(trial.model) for trial in result.trials}) == len(result.trials)
    assert not [one for one in open_study(directory, result.objectives).trials if one.state == TrialState.RUNNING]
