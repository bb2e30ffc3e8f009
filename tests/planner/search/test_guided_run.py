from dataclasses import replace
from pathlib import Path

import pytest
from optuna.trial import TrialState

from planner.search import RungStep, SearchProgress, SearchResult, Trained, load_search, run_search
from planner.search.candidate import candidate_key
from planner.search.space import enumerate_choices
from planner.search.storage import open_study
from planner.study import SearchSection, SpaceSection
from profiles.errors import MeasurementError
from representations.specs import ModelSpec
from tests.planner.search.closed_form import SMALL_SPACE, LoggedTrainer, RungedTrainer, make_task, predict, train

SECTION = SearchSection(trials=8, space=SMALL_SPACE)
TASK = make_task(SECTION)
CONSTRAINED = make_task(replace(SECTION, constraints={"parameter_bytes": "60 kB"}))


def completed(result: SearchResult) -> list[str]:
    return sorted(trial.model.name for trial in result.feasible)


def spent(result: SearchResult) -> float:
    """Whole trainings' worth, by the second that each takes."""
    return sum(trial.train_seconds or 0.0 for trial in result.trials)


def test_trials_are_whole_trainings_worth_and_some_are_stopped_early(tmp_path: Path) -> None:
    result = run_search(TASK, predict, RungedTrainer(), directory=tmp_path, sampler="guided")
    assert 7 < spent(result) <= 8 + 1e-9
    stopped = [trial for trial in result.trials if trial.state == "stopped"]
    assert stopped
    assert all(trial.auc is None and trial.rungs[-1].share < 1 and trial.reason for trial in stopped)
    assert len({candidate_key(trial.model) for trial in result.trials}) == len(result.trials) > 8


def test_a_complete_trial_keeps_its_scores_on_the_way(tmp_path: Path) -> None:
    result = run_search(TASK, predict, RungedTrainer(), directory=tmp_path, sampler="guided")
    for trial in result.feasible:
        assert [rung.share for rung in trial.rungs] == [0.1, 0.4, 1.0]
        assert trial.rungs[-1].auc == trial.auc
        assert trial.train_seconds == pytest.approx(1.0)


def test_optuna_sees_stopped_trials_as_pruned_and_none_as_running(tmp_path: Path) -> None:
    result = run_search(TASK, predict, RungedTrainer(), directory=tmp_path, sampler="guided")
    told = open_study(tmp_path, SECTION.objectives).trials
    assert {trial.number for trial in told if trial.state == TrialState.COMPLETE} == {t.number for t in result.feasible}
    assert not [trial for trial in told if trial.state == TrialState.RUNNING]
    assert all(trial.user_attrs["feasible"] for trial in told)


@pytest.mark.parametrize("limit", [1, 7, 15])
def test_an_interrupted_search_goes_on_as_it_would_have(tmp_path: Path, limit: int) -> None:
    whole = run_search(TASK, predict, RungedTrainer(), directory=tmp_path / "whole", sampler="guided")
    with pytest.raises(KeyboardInterrupt):
        run_search(TASK, predict, RungedTrainer(limit), directory=tmp_path / "parts", sampler="guided")
    rest = RungedTrainer()
    result = run_search(TASK, predict, rest, directory=tmp_path / "parts", sampler="guided")
    assert completed(result) == completed(whole)
    assert spent(result) == pytest.approx(spent(whole))
    assert load_search(tmp_path / "parts") == result


def test_more_trials_carry_stopped_trainings_on(tmp_path: Path) -> None:
    few = run_search(TASK, predict, RungedTrainer(), directory=tmp_path, trials=3, sampler="guided")
    more = RungedTrainer()
    many = run_search(TASK, predict, more, directory=tmp_path, trials=40, sampler="guided")
    again = {trial.model.name for trial in few.trials if trial.state == "stopped"}
    firsts = {name for name, step in more.steps if step.after is None}
    assert again
    assert not again & firsts
    assert len(many.feasible) == len(enumerate_choices(SMALL_SPACE)) == len(many.trials)


def test_a_trainer_without_rungs_trains_to_the_end(tmp_path: Path) -> None:
    trainer = LoggedTrainer(tmp_path / "log.txt")
    result = run_search(TASK, predict, trainer, directory=tmp_path / "search", sampler="guided")
    assert completed(result) == sorted(trainer.names)
    assert len(trainer.names) == 8
    assert run_search(TASK, predict, trainer, directory=tmp_path / "search", sampler="guided") == result
    assert len(trainer.names) == 8


def test_seconds_end_a_search_before_its_trials_do(tmp_path: Path) -> None:
    result = run_search(TASK, predict, RungedTrainer(), directory=tmp_path, sampler="guided", seconds=2.5)
    assert 1.5 < spent(result) <= 2.5


def test_what_is_too_dear_is_recorded_with_its_costs_and_never_trained(tmp_path: Path) -> None:
    trainer = RungedTrainer()
    result = run_search(CONSTRAINED, predict, trainer, directory=tmp_path, sampler="guided")
    ruled_out = [trial for trial in result.trials if trial.state == "infeasible"]
    assert len(ruled_out) == 4
    assert all("parameter_bytes" in trial.reason and trial.parameter_bytes > 60_000 for trial in ruled_out)
    assert all(predict(trial.model).parameter_bytes <= 60_000 for trial in result.feasible)
    assert spent(result) > 7


def test_a_training_that_fails_is_left_alone(tmp_path: Path) -> None:
    class Failing(RungedTrainer):
        def train_rung(self, spec: ModelSpec, seed: int, step: RungStep) -> Trained:
            if spec.representation == "dhe" and step.rung == 1:
                raise MeasurementError(f"{spec.name}: loss is nan")
            return super().train_rung(spec, seed, step)

    result = run_search(TASK, predict, Failing(), directory=tmp_path, trials=20, sampler="guided")
    failed = [trial for trial in result.trials if trial.state == "failed"]
    assert failed
    assert all(trial.reason.endswith("loss is nan") and len(trial.rungs) == 1 for trial in failed)
    assert not {trial.model.representation for trial in result.feasible} & {"dhe"}


def test_a_search_by_chance_goes_on_guided(tmp_path: Path) -> None:
    before = run_search(TASK, predict, train, directory=tmp_path, trials=4)
    result = run_search(TASK, predict, train, directory=tmp_path, sampler="guided")
    assert result.trials[:4] == before.trials
    assert len(result.feasible) == 8


def test_progress_is_told_after_every_step(tmp_path: Path) -> None:
    told: list[SearchProgress] = []
    trainer = RungedTrainer()
    run_search(TASK, predict, trainer, directory=tmp_path, sampler="guided", progress=told.append)
    assert len(told) == len(trainer.steps)


def test_a_space_too_large_to_be_screened_whole_is_searched_with_what_tpe_wishes_for(tmp_path: Path) -> None:
    space = SpaceSection(dim=tuple(range(2, 33, 2)), dhe_k=tuple(range(8, 72, 4)), dhe_width=(16,))
    task = make_task(SearchSection(trials=14, space=space))
    trainer = LoggedTrainer(tmp_path / "log.txt")
    result = run_search(task, predict, trainer, directory=tmp_path / "search", trials=7, sampler="guided")
    again = run_search(task, predict, trainer, directory=tmp_path / "search", sampler="guided")
    assert again.trials[:7] == result.trials
    assert len(again.feasible) == len(set(trainer.names)) == len(trainer.names) == 14
    assert again.hypervolume > result.hypervolume
