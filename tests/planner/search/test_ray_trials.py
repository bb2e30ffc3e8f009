import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import ray

from planner.search import RayTrials, Trained, run_search
from planner.search.candidate import candidate_key
from planner.search.ray_trials import train_candidate
from profiles.errors import InputError, MeasurementError, RecplanError
from representations.specs import ModelSpec
from tests.planner.search.closed_form import make_task, predict, train


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with RayTrials(train):
        yield
    assert not ray.is_initialized()


def train_tables_last(spec: ModelSpec, seed: int) -> Trained:
    time.sleep(0.3 if spec.representation == "table" else 0.0)
    return train(spec, seed)


class DiesOnce:
    """Kills its worker the first time it meets a DHE."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __call__(self, spec: ModelSpec, seed: int) -> Trained:
        if spec.representation == "dhe" and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return train(spec, seed)


def always_dies(spec: ModelSpec, seed: int) -> Trained:
    del spec, seed
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def sleeps(spec: ModelSpec, seed: int) -> Trained:
    time.sleep(600)
    return train(spec, seed)


def diverges(spec: ModelSpec, seed: int) -> Trained:
    del seed
    raise MeasurementError(f"{spec.name}: loss is nan")


def refuses(spec: ModelSpec, seed: int) -> Trained:
    del seed
    raise InputError(f"{spec.name}: cannot be trained")


@pytest.mark.slow
def test_the_worker_body_trains() -> None:
    spec = make_task().candidate({"representation": "table", "dim": 4}).model
    assert train_candidate(train, spec, 3, None) == train(spec, 3)


def test_trials_that_end_out_of_order_are_all_kept_and_all_different(tmp_path: Path) -> None:
    executor = partial(RayTrials, slots=3)
    result = run_search(make_task(), predict, train_tables_last, directory=tmp_path, trials=10, executor=executor)
    assert len({candidate_key(trial.model) for trial in result.trials}) == len(result.trials) == 10
    seed = make_task().training_seed
    assert all(trial.auc == train(trial.model, seed).auc for trial in result.trials)


def test_a_trial_whose_worker_is_lost_is_started_again(tmp_path: Path) -> None:
    trainer = DiesOnce(tmp_path / "died")
    result = run_search(make_task(), predict, trainer, directory=tmp_path / "search", trials=3, executor=RayTrials)
    assert trainer.marker.exists()
    assert [trial.state for trial in result.trials] == ["complete"] * 3


def test_a_trial_whose_worker_is_always_lost_is_named(tmp_path: Path) -> None:
    executor = partial(RayTrials, retries=0)
    with pytest.raises(RecplanError, match=r"trial 0 \(table-d2\): its worker was lost"):
        run_search(make_task(), predict, always_dies, directory=tmp_path, trials=1, executor=executor)


@pytest.mark.slow
def test_an_error_of_the_trainer_surfaces_as_itself(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^table-d2: cannot be trained"):
        run_search(make_task(), predict, refuses, directory=tmp_path, trials=1, executor=RayTrials)


@pytest.mark.slow
def test_a_trial_that_cannot_be_trained_fails_and_the_search_goes_on(tmp_path: Path) -> None:
    result = run_search(make_task(), predict, diverges, directory=tmp_path, trials=2, executor=RayTrials)
    assert sorted(trial.reason for trial in result.trials) == [
        "dhe-d4-k8-w16x1: loss is nan",
        "table-d2: loss is nan",
    ]


def test_a_joined_cluster_stays_and_has_as_many_slots_as_room() -> None:
    with RayTrials(train) as one_each, RayTrials(train, cpus_per_trial=1000) as all_each:
        assert one_each.slots >= 1
        assert all_each.slots == 1
    assert ray.is_initialized()


def test_leaving_early_cancels_what_is_in_training() -> None:
    spec = make_task().candidate({"representation": "table", "dim": 4}).model
    with RayTrials(sleeps) as trials:
        trials.submit(0, spec, 0)
        trials.submit(1, spec, 0)
