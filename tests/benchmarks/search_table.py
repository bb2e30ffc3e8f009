"""The table of finished trainings on which searches are replayed: `python -m tests.benchmarks.search_table FILE`.

Every candidate of a small space is trained once on the bundled flights, on one thread, and judged three times on the
way. Lines are appended to FILE as they come, so that a run that was ended goes on; `--pack` writes the table that
ships with the tests.
"""

import argparse
import gzip
import json
import random
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from planner.search.candidate import Candidate
from planner.search.space import Choices, enumerate_choices
from planner.search.task import SearchTask
from planner.study import SearchSection, SpaceSection
from profiles.errors import CorruptFileError, InputError
from profiles.files import replace_file
from representations.datasets import Splits, load_dataset, split_dataset
from representations.metrics import Metrics, score
from representations.specs import Feature, ModelSpec
from representations.training import predict
from representations.training_config import TrainingConfig
from representations.training_run import TrainingRun
from tests.benchmarks.accuracy_flights import FEATURES

__all__ = ["CONFIG", "RUNG_SHARES", "SECTION", "TABLE", "FinishedTraining", "Rung", "SearchTable", "read_table"]

SCHEMA = "recplan.search-table/1"
TABLE = Path(__file__).parent.parent / "data" / "search_table.jsonl.gz"
RUNG_SHARES = (1 / 9, 1 / 3, 1.0)
CONFIG = TrainingConfig(epochs=1, batch_size=1024, maximum_rows=120_000)
SECTION = SearchSection(
    objectives=("auc", "latency_ms", "parameter_bytes"),
    constraints={"latency_ms": 0.35, "parameter_bytes": "400 kB"},
    latency_batch=128,
    space=SpaceSection(
        representation=(
            "table",
            "dhe",
            "select",
            "hybrid",
            "quotient-remainder",
            "mixed-dimension",
            "tensor-train",
            "robe",
        ),
        dim=(2, 4, 8, 16),
        dhe_k=(16, 64, 256),
        dhe_width=(16, 64),
        dhe_depth=(1, 2),
        select_largest=(1, 2, 3),
        qr_collisions=(4, 16, 64),
        tt_rank=(2, 4, 8),
        robe_compression=(4, 16, 64),
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """What a training had reached after a share of its steps: `seconds` of one thread's CPU time since it began."""

    share: float
    seconds: float
    validation: Metrics


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedTraining:
    """A candidate's training; `test` is of rows that no choice may look at."""

    choices: Choices
    rungs: tuple[Rung, ...]
    test: Metrics

    @property
    def seconds(self) -> float:
        """CPU time of the whole training."""
        return self.rungs[-1].seconds

    def to_object(self) -> dict[str, Any]:
        """A JSON-ready object that `from_object` reads back."""
        return {"choices": dict(self.choices), "rungs": [asdict(one) for one in self.rungs], "test": asdict(self.test)}

    @classmethod
    def from_object(cls, body: Mapping[str, Any]) -> "FinishedTraining":
        """What `to_object` wrote."""
        rungs = tuple(Rung(**{**one, "validation": Metrics(**one["validation"])}) for one in body["rungs"])
        return cls(choices=body["choices"], rungs=rungs, test=Metrics(**body["test"]))


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchTable:
    """All trainings by their candidates' keys, and the question that they answer."""

    task: SearchTask
    config: TrainingConfig
    trainings: Mapping[str, FinishedTraining]

    @property
    def seconds(self) -> float:
        """CPU time of all trainings together."""
        return sum(one.seconds for one in self.trainings.values())


def read_table(path: Path = TABLE) -> SearchTable:
    """The table that ships, or one that a run has written so far.

    Raises:
        CorruptFileError: no table.
    """
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    # What follows the last end of a line was cut off by the end of a run.
    lines = text[: text.rfind("\n") + 1].splitlines()
    if not lines:
        raise CorruptFileError(f"{path}: is empty")
    head = json.loads(lines[0])
    if head.get("schema") != SCHEMA:
        raise CorruptFileError(f"{path}: schema: must be {SCHEMA!r}, but got {head.get('schema')!r}")
    task = _task(tuple(Feature(**one) for one in head["features"]), head["dense_features"])
    rows = [FinishedTraining.from_object(json.loads(line)) for line in lines[1:]]
    trainings = {task.candidate(row.choices).key: row for row in rows}
    return SearchTable(task=task, config=TrainingConfig(**head["config"]), trainings=trainings)


def distinct_candidates(task: SearchTask) -> dict[str, Candidate]:
    """The space's candidates, of equal models the first."""
    found: dict[str, Candidate] = {}
    for candidate in map(task.candidate, enumerate_choices(task.section.space)):
        found.setdefault(candidate.key, candidate)
    return found


def load_splits(rows: int | None = None) -> Splits:
    """The bundled flights, split at random."""
    return split_dataset(load_dataset("flights", features=FEATURES, rows=rows), "random", 0)


def finished(choices: Choices, spec: ModelSpec, splits: Splits, config: TrainingConfig) -> FinishedTraining:
    """One candidate's whole training."""
    run = TrainingRun(spec, splits.train, config)
    rungs = tuple(_rungs(run, splits))
    return FinishedTraining(
        choices=choices, rungs=rungs, test=score(splits.test.labels_N, predict(run.model, splits.test))
    )


def _rungs(run: TrainingRun, splits: Splits) -> Iterator[Rung]:
    rows = min(len(splits.train), run.config.maximum_rows or len(splits.train))
    steps = -(-rows // run.config.batch_size)
    seconds = 0.0
    run.begin_epoch()
    for share in RUNG_SHARES:
        begin_s = time.process_time()
        while run.step < round(share * steps):
            run.train_batch()
        reached = score(splits.validation.labels_N, predict(run.model, splits.validation))
        seconds += time.process_time() - begin_s
        yield Rung(share=share, seconds=round(seconds, 4), validation=reached)


def _task(features: tuple[Feature, ...], dense_features: int) -> SearchTask:
    return SearchTask(
        features=features, dense_features=dense_features, section=SECTION, latency_device="cpu", latency_batch=128
    )


def _head(splits: Splits) -> dict[str, Any]:
    features = [{"name": one.name, "cardinality": one.cardinality} for one in splits.features]
    config = asdict(CONFIG)
    return {"schema": SCHEMA, "features": features, "dense_features": splits.dense_features, "config": config}


def _fill(path: Path, most: int | None) -> None:
    """Train what the file does not hold yet, at most so many."""
    splits = load_splits()
    head = _head(splits)
    if not path.exists():
        path.write_text(json.dumps(head) + "\n")
    elif json.loads(path.read_text().partition("\n")[0]) != head:
        raise InputError(f"{path}: holds a table of other data or another training")
    else:
        text = path.read_text()
        path.write_text(text[: text.rfind("\n") + 1])
    done = read_table(path)
    candidates = distinct_candidates(done.task)
    missing = [key for key in candidates if key not in done.trainings]
    # So that what a run leaves when it is ended is a fair sample.
    random.Random(0).shuffle(missing)
    torch.set_num_threads(1)
    # A process's first steps load kernels, which no training should pay for.
    warm = next(iter(candidates.values()))
    finished(warm.choices, warm.model, load_splits(12_000), CONFIG)
    with path.open("a") as file:
        for key in missing[:most]:
            row = finished(candidates[key].choices, candidates[key].model, splits, CONFIG)
            file.write(json.dumps(row.to_object()) + "\n")
            file.flush()
            sys.stderr.write(f"{candidates[key].model.name}: {row.seconds:.2f} s, AUC {row.test.auc:.4f}\n")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.search_table", description=__doc__)
    parser.add_argument("file", type=Path, help="JSON lines, appended to")
    parser.add_argument("--most", type=int, help="train at most so many candidates now")
    parser.add_argument("--pack", action="store_true", help=f"write {TABLE.name} from the file, and train nothing")
    options = parser.parse_args()
    if options.pack:
        read_table(options.file)
        replace_file(TABLE, gzip.compress(options.file.read_bytes(), mtime=0))
    else:
        _fill(options.file, options.most)


if __name__ == "__main__":
    main()
