"""A search that is killed again and again: how soon the next run is at its next training, and what is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from planner.search import load_search, run_search
from planner.search.candidate import candidate_key
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import bullets, table
from tests.planner.search.closed_form import RungedTrainer, make_task, predict

__all__ = ["BENCHMARK"]

ROOT = Path(__file__).parent.parent.parent
KILLS, TRIALS = 10, 15
_TRAINING_S = 0.15
_PROGRAM = f"""
import sys, time
from pathlib import Path
began_s = time.time()
from planner.search import run_search
from tests.planner.search.closed_form import RungedTrainer, make_task, predict

folder, storage = Path(sys.argv[1]), sys.argv[2] or None
imported_s = time.time()

class Slow(RungedTrainer):
    def train_rung(self, spec, seed, step):
        if not self.steps:
            (folder / "first.txt").write_text(f"{{began_s}} {{imported_s}} {{time.time()}}")
        time.sleep({_TRAINING_S})
        trained = super().train_rung(spec, seed, step)
        with (folder / "trained.txt").open("a") as file:
            file.write(f"{{spec.name}} {{step.rung}}\\n")
        return trained

run_search(make_task(), predict, Slow(), directory=folder, trials={TRIALS}, sampler="guided", storage=storage)
"""
_INTRODUCTION = """\
A guided search of a closed-form task in a process of its own, whose trainings take 0.15 s each, is killed by SIGKILL at
random moments; the next run goes on at once. When none is killed, the same search is run without kills beside it."""


def killed(folder: Path, storage: str, kills: int) -> dict[str, Any]:
    """Seconds from each kill to the next run's first training, and what became of the trials."""
    rng, since_kill_s, searched_s = random.Random(0), [], []
    killed_s = 0.0
    for number in range(kills + 1):
        (folder / "first.txt").unlink(missing_ok=True)
        process = subprocess.Popen([sys.executable, "-c", _PROGRAM, str(folder), storage], cwd=ROOT)
        if not _has_begun(process, folder / "first.txt"):
            break
        _, imported_s, first_s = map(float, (folder / "first.txt").read_text().split())
        if number:
            since_kill_s.append(first_s - killed_s)
            searched_s.append(first_s - imported_s)
        if number == kills:
            process.wait()
            break
        time.sleep(rng.uniform(0.1, 0.8))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        killed_s = time.time()
    result = load_search(folder, storage or None)
    steps = (folder / "trained.txt").read_text().split("\n")[:-1]
    return {
        "kills": len(since_kill_s),
        "since_kill_s": since_kill_s,
        "searched_s": searched_s,
        "finished": sorted(trial.model.name for trial in result.feasible),
        "twice": len(result.trials) - len({candidate_key(trial.model) for trial in result.trials}),
        "trained_again": len(steps) - len(set(steps)),
    }


def _has_begun(process: subprocess.Popen[bytes], first: Path) -> bool:
    """Wait for the first training; False where the process ended without one."""
    while process.poll() is None:
        if first.exists() and len(first.read_text().split()) == 3:
            return True
        time.sleep(0.002)
    return False


def _measure(quick: bool) -> Figures:
    kills = 3 if quick else KILLS
    found = {}
    with TemporaryDirectory() as name:
        whole = run_search(
            make_task(), predict, RungedTrainer(), directory=Path(name) / "whole", trials=TRIALS, sampler="guided"
        )
        for kind in ("journal", "SQLite"):
            folder = Path(name) / kind
            folder.mkdir()
            storage = f"sqlite:///{folder / 'trials.db'}" if kind == "SQLite" else ""
            found[kind] = killed(folder, storage, kills)
    same = sorted(trial.model.name for trial in whole.feasible)
    return {
        "storages": {
            kind: {
                "kills": one["kills"],
                "since_kill_s": {"median": median(one["since_kill_s"]), "most": max(one["since_kill_s"])},
                "searched_s": {"median": median(one["searched_s"]), "most": max(one["searched_s"])},
                "same_finished": one["finished"] == same,
                "twice": one["twice"],
                "steps_trained_again": one["trained_again"],
            }
            for kind, one in found.items()
        }
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    lines = [
        (
            kind,
            str(one["kills"]),
            f"{one['since_kill_s']['median']:.2f}",
            f"{one['since_kill_s']['most']:.2f}",
            f"{one['searched_s']['most']:.2f}",
            "yes" if one["same_finished"] else "no",
            str(one["twice"]),
            str(one["steps_trained_again"]),
        )
        for kind, one in report["storages"].items()
    ]
    columns = (
        "trials in",
        "kills",
        "s to go on",
        "at most",
        "without imports",
        "same finished",
        "twice",
        "steps again",
    )
    return [
        _INTRODUCTION,
        table(columns, lines),
        "## What the figures mean",
        bullets(
            [
                "**s to go on**: from a kill to the next run's first training, median; Python's start is in it.",
                "**without imports**: from the call of the search, once all is imported, at most.",
                "**same finished**: the trainings that came to their end are those of the search without kills.",
                "**steps again**: steps of trainings that were over when the kill came, but not written down yet.",
            ]
        ),
    ]


BENCHMARK = Benchmark(name="killed_search", title="A search that is killed", measure=_measure, describe=_describe)

if __name__ == "__main__":
    main(BENCHMARK)
