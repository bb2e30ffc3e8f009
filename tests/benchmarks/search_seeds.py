"""How much of a score in the table of trainings is chance: `python -m tests.benchmarks.search_seeds`.

A few of its candidates, drawn at random, are trained again from other seeds as the table's were; what their scores
scatter by is the noise of every other training of the table.
"""

import gzip
import json
import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import torch

from profiles.files import replace_file
from representations.metrics import Metrics
from tests.benchmarks.search_table import CONFIG, FinishedTraining, SearchTable, finished, load_splits, read_table

__all__ = ["SEEDS_FILE", "Scatter", "read_scatter"]

SEEDS_FILE = Path(__file__).parent.parent / "data" / "search_seeds.jsonl.gz"
_CANDIDATES, _SEEDS = 16, (1, 2, 3)
# Of a normal difference 95 % lie within so many standard errors.
_STANDARD_ERRORS = 1.96


@dataclass(frozen=True, kw_only=True, slots=True)
class Scatter:
    """Standard deviations of AUC from seed to seed, pooled over candidates, on validation rows and on test rows."""

    validation: float
    test: float
    candidates: int
    trainings: int

    @property
    def alike(self) -> float:
        """Two single trainings that differ by no more on validation rows are not told apart in 19 of 20 cases."""
        return _STANDARD_ERRORS * math.sqrt(2) * self.validation


def read_scatter(table: SearchTable, path: Path = SEEDS_FILE) -> Scatter:
    """What the shipped trainings from other seeds and those of the table say."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    by_key: dict[str, list[FinishedTraining]] = {}
    for body in map(json.loads, lines):
        row = FinishedTraining.from_object(body)
        by_key.setdefault(table.task.candidate(row.choices).key, []).append(row)
    groups = [[table.trainings[key], *rows] for key, rows in by_key.items()]
    return Scatter(
        validation=_pooled([[one.rungs[-1].validation for one in group] for group in groups]),
        test=_pooled([[one.test for one in group] for group in groups]),
        candidates=len(groups),
        trainings=sum(map(len, groups)),
    )


def _pooled(groups: Sequence[Sequence[Metrics]]) -> float:
    squares, freedom = 0.0, 0
    for group in groups:
        mean = fmean(one.auc for one in group)
        squares += math.fsum((one.auc - mean) ** 2 for one in group)
        freedom += len(group) - 1
    return math.sqrt(squares / freedom)


def _allowed(table: SearchTable) -> list[str]:
    # Imported here, as that module reads this one.
    from tests.benchmarks.search import allowed, predictor

    return sorted(allowed(table.task, predictor(table.task)))


def main() -> None:
    """Train the missing ones, and write the file."""
    torch.set_num_threads(1)
    table, splits = read_table(), load_splits()
    rows: list[Mapping[str, object]] = []
    for key in random.Random(0).sample(_allowed(table), _CANDIDATES):
        choices = table.trainings[key].choices
        for seed in _SEEDS:
            row = finished(choices, table.task.candidate(choices).model, splits, replace(CONFIG, seed=seed))
            rows.append({**row.to_object(), "seed": seed})
            sys.stderr.write(f"{dict(choices)} seed {seed}: validation AUC {row.rungs[-1].validation.auc:.4f}\n")
    text = "".join(json.dumps(row) + "\n" for row in rows)
    replace_file(SEEDS_FILE, gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
