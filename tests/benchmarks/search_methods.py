"""The searches that are compared; each takes a task, a predictor and a trainer that ends it with the budget."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from planner.search import Predictor, RungTrainer, SearchTask, run_search
from tests.benchmarks.rivals.plain_search import optuna_search, random_search
from tests.benchmarks.search_replay import Method

__all__ = ["METHODS", "OURS", "guided_search"]

OURS = "ours"
# More than any budget of these pays for.
_TRIALS = 2_000


def guided_search(task: SearchTask, predict: Predictor, train: RungTrainer, seed: int, *, trials: float = 1e6) -> None:
    """The project's own search, in a folder that is thrown away."""
    with TemporaryDirectory() as folder:
        seeded = replace(task, seed=seed)
        run_search(seeded, predict, train, directory=Path(folder), trials=int(trials), sampler="guided")


def _plain(sampler: str, task: SearchTask, predict: Predictor, train: RungTrainer, seed: int) -> None:
    optuna_search(sampler, task, predict, train, seed, _TRIALS)


METHODS: Mapping[str, Method] = {
    OURS: guided_search,
    "random": random_search,
    "tpe": partial(_plain, "tpe"),
    "nsga2": partial(_plain, "nsga2"),
}
