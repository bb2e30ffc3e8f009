from pathlib import Path

import numpy as np

from planner.search import run_search
from planner.search.space import enumerate_choices
from planner.search.warm_start import earlier_prior
from planner.study import SearchSection
from tests.planner.search.closed_form import SMALL_SPACE, LoggedTrainer, make_task, predict, train
from tests.planner.search.test_records import make_record, make_result

TASK = make_task(SearchSection(trials=10, space=SMALL_SPACE))
CANDIDATES = [TASK.candidate(choices) for choices in enumerate_choices(SMALL_SPACE)]


def test_what_an_earlier_search_found_is_expected_again(tmp_path: Path) -> None:
    earlier = run_search(TASK, predict, train, directory=tmp_path, trials=12)
    make_prior = earlier_prior([earlier], ("auc", "latency_ms"))
    assert make_prior is not None
    prior = make_prior(CANDIDATES)
    assert prior is not None
    truth = [-train(candidate.model, TASK.training_seed).auc for candidate in CANDIDATES]
    assert np.corrcoef(prior.mean_N, truth)[0, 1] > 0.9


def test_a_warm_search_begins_with_the_best(tmp_path: Path) -> None:
    earlier = run_search(TASK, predict, train, directory=tmp_path / "earlier", trials=20)
    trainer, cold = LoggedTrainer(tmp_path / "warm.txt"), LoggedTrainer(tmp_path / "cold.txt")
    other = make_task(SearchSection(trials=7, space=SMALL_SPACE), seed=5)
    warm = run_search(other, predict, trainer, directory=tmp_path / "w", sampler="guided", warm_start=[earlier])
    begun = run_search(other, predict, cold, directory=tmp_path / "c", sampler="guided")
    assert warm.hypervolume >= begun.hypervolume


def test_searches_that_trained_little_tell_nothing() -> None:
    assert earlier_prior([make_result(make_record(0))], ("auc",)) is None
    assert earlier_prior([], ("auc",)) is None
    assert earlier_prior([make_result(*(make_record(n) for n in range(4)))], ("latency_ms",)) is None
