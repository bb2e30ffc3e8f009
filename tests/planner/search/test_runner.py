import math
from dataclasses import replace
from pathlib import Path

import pytest
from optuna.trial import TrialState

from planner.search import SearchProgress, SearchTask, Trained, load_search, run_search
from planner.search.candidate import candidate_key
from planner.search.proposals import SamplerName
from planner.search.space import enumerate_choices
from planner.search.storage import open_study
from planner.study import SearchSection, SpaceSection
from profiles.errors import InfeasibleError, InputError, MeasurementError, StorageError
from representations.specs import ModelSpec
from tests.planner.search.closed_form import SMALL_SPACE, LoggedTrainer, make_task, predict, train

SECTION = SearchSection(trials=12, space=SMALL_SPACE)
CONSTRAINED = replace(SECTION, constraints={"parameter_bytes": "100 kB"})


@pytest.fixture
def trainer(tmp_path: Path) -> LoggedTrainer:
    return LoggedTrainer(tmp_path / "trained.txt")


@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
def test_every_finished_trial_is_a_different_model(tmp_path: Path, sampler: SamplerName) -> None:
    result = run_search(make_task(), predict, train, directory=tmp_path, sampler=sampler)
    assert len({candidate_key(trial.model) for trial in result.trials}) == len(result.trials) == 12


def test_the_first_trials_are_one_of_each_representation(tmp_path: Path) -> None:
    result = run_search(make_task(), predict, train, directory=tmp_path, trials=4)
    assert [trial.model.representation for trial in result.trials] == ["table", "dhe", "select", "hybrid"]


def test_the_first_trials_are_feasible_wherever_a_representation_can_be(tmp_path: Path) -> None:
    result = run_search(make_task(CONSTRAINED), predict, train, directory=tmp_path, trials=4)
    assert {trial.model.representation for trial in result.feasible} == {"table", "dhe", "select", "hybrid"}


def test_a_representation_that_cannot_be_feasible_is_not_among_the_first(tmp_path: Path) -> None:
    task = make_task(replace(SECTION, constraints={"parameter_bytes": "30 kB"}))
    result = run_search(task, predict, train, directory=tmp_path, trials=2)
    assert [trial.model.representation for trial in result.feasible] == ["dhe", "select"]


def test_infeasible_trials_are_recorded_with_their_reason_and_never_trained(
    tmp_path: Path, trainer: LoggedTrainer
) -> None:
    result = run_search(make_task(CONSTRAINED), predict, trainer, directory=tmp_path)
    infeasible = [trial for trial in result.trials if trial.state == "infeasible"]
    assert infeasible
    assert not {trial.model.name for trial in infeasible} & set(trainer.names)
    assert all(trial.reason.endswith("> 100,000 (predicted)") and trial.auc is None for trial in infeasible)
    told = [trial for trial in open_study(tmp_path, SECTION.objectives).trials if trial.state == TrialState.PRUNED]
    assert [trial.number for trial in told] == [trial.number for trial in infeasible]
    assert all(trial.constraints["parameter_bytes"] > 0 and trial.user_attrs["feasible"] is False for trial in told)


def test_a_trial_that_cannot_be_trained_fails_with_the_trainers_reason(tmp_path: Path) -> None:
    def diverging(spec: ModelSpec, seed: int) -> Trained:
        if spec.representation == "dhe":
            raise MeasurementError(f"{spec.name}: the loss is no longer finite")
        return train(spec, seed)

    result = run_search(make_task(), predict, diverging, directory=tmp_path, trials=3)
    assert [trial.state for trial in result.trials] == ["complete", "failed", "complete"]
    assert result.trials[1].reason == "dhe-d4-k8-w16x1: the loss is no longer finite"


@pytest.mark.parametrize("section", [SECTION, CONSTRAINED])
def test_the_pareto_set_is_optunas(tmp_path: Path, section: SearchSection) -> None:
    result = run_search(make_task(section), predict, train, directory=tmp_path)
    best = open_study(tmp_path, section.objectives).best_trials
    assert {trial.number for trial in result.pareto} == {trial.number for trial in best}


def test_a_finished_search_trains_nothing_and_predicts_nothing(tmp_path: Path, trainer: LoggedTrainer) -> None:
    def refuse(spec: ModelSpec) -> None:
        raise AssertionError(spec.name)

    first = run_search(make_task(), predict, trainer, directory=tmp_path)
    again = run_search(make_task(), refuse, trainer, directory=tmp_path)  # type: ignore[arg-type]  # must not be called
    assert again == first == load_search(tmp_path)
    assert len(trainer.names) == 12


@pytest.mark.parametrize(("section", "sampler"), [(SECTION, "nsga2"), (CONSTRAINED, "tpe")])
def test_a_search_in_two_runs_is_the_search_in_one(
    tmp_path: Path, section: SearchSection, sampler: SamplerName
) -> None:
    task = make_task(section)
    whole = run_search(task, predict, train, directory=tmp_path / "whole", sampler=sampler)
    run_search(task, predict, train, directory=tmp_path / "parts", trials=7, sampler=sampler)
    assert run_search(task, predict, train, directory=tmp_path / "parts", sampler=sampler) == whole


def test_another_seed_is_another_search(tmp_path: Path) -> None:
    one, other = (
        run_search(make_task(seed=seed), predict, train, directory=tmp_path / str(seed), trials=9) for seed in (0, 1)
    )
    assert [trial.choices for trial in one.trials] != [trial.choices for trial in other.trials]


def test_an_error_of_the_trainer_surfaces_and_its_trial_is_tried_again(tmp_path: Path) -> None:
    def interrupted(spec: ModelSpec, seed: int) -> Trained:
        if spec.representation == "select":
            raise KeyboardInterrupt
        return train(spec, seed)

    with pytest.raises(KeyboardInterrupt):
        run_search(make_task(), predict, interrupted, directory=tmp_path)
    assert len(load_search(tmp_path).trials) == 2
    states = [trial.state for trial in open_study(tmp_path, SECTION.objectives).trials]
    assert states == [TrialState.COMPLETE, TrialState.COMPLETE, TrialState.FAIL]
    assert (
        run_search(make_task(), predict, train, directory=tmp_path, trials=4).trials[2].model.representation == "select"
    )


def test_a_trial_whose_loss_is_not_finite_fails_and_is_not_tried_again(tmp_path: Path) -> None:
    def diverging(spec: ModelSpec, seed: int) -> Trained:
        trained = train(spec, seed)
        return replace(trained, log_loss=math.nan) if spec.representation == "dhe" else trained

    result = run_search(make_task(), predict, diverging, directory=tmp_path)
    failed = [trial for trial in result.trials if trial.state == "failed"]
    assert failed
    assert all(trial.reason == "log_loss is nan after training" for trial in failed)
    assert len({candidate_key(trial.model) for trial in result.trials}) == 12
    assert not {trial.number for trial in failed} & {trial.number for trial in result.feasible}


def test_a_space_with_fewer_models_than_trials_is_used_up(tmp_path: Path) -> None:
    section = replace(CONSTRAINED, trials=50)
    result = run_search(make_task(section), predict, train, directory=tmp_path)
    possible = [trial for trial in result.trials if trial.feasible]
    assert len(possible) == sum(predict(model).parameter_bytes <= 100_000 for model in every_model(make_task(section)))
    assert run_search(make_task(section), predict, train, directory=tmp_path) == result


def every_model(task: SearchTask) -> list[ModelSpec]:
    return [task.candidate(choices).model for choices in enumerate_choices(task.section.space)]


def test_a_space_too_large_to_enumerate_is_searched(tmp_path: Path) -> None:
    space = SpaceSection(dim=tuple(range(1, 33)), dhe_k=tuple(range(1, 65)))
    section = SearchSection(trials=10, space=space, constraints={"parameter_bytes": "60 kB"})
    result = run_search(make_task(section), predict, train, directory=tmp_path)
    assert len(result.trials) == 10
    # No more than two idle trials in a row.
    assert len(result.feasible) >= 5


def test_one_objective_has_one_best(tmp_path: Path) -> None:
    section = replace(SECTION, objectives=("auc",))
    result = run_search(make_task(section), predict, train, directory=tmp_path)
    assert result.best is not None
    assert result.best.auc == max(trial.auc for trial in result.feasible if trial.auc is not None)


def test_progress_tells_the_count_the_best_and_what_was_infeasible(tmp_path: Path) -> None:
    told: list[SearchProgress] = []
    result = run_search(make_task(CONSTRAINED), predict, train, directory=tmp_path, progress=told.append)
    assert [progress.finished for progress in told] == list(range(1, 13))
    assert told[-1].best == result.best
    assert told[-1].infeasible == result.count("infeasible") > 0
    assert told[-1].note.startswith("best auc 0.")
    assert told[-1].ruled_out == {"parameter_bytes": told[-1].infeasible}
    assert told[-1].front == result.pareto
    assert told[0].seconds_left is not None
    assert told[-1].seconds_left == 0.0
    assert f"front of {len(result.pareto)}, {told[-1].infeasible} infeasible (parameter_bytes)" in told[-1].note


def test_constraints_that_nothing_meets_are_told_before_anything_trains(tmp_path: Path, trainer: LoggedTrainer) -> None:
    section = replace(SECTION, constraints={"latency_ms": 1e-3})
    with pytest.raises(InfeasibleError, match="latency_ms"):
        run_search(make_task(section), predict, trainer, directory=tmp_path)
    assert not trainer.names


def test_a_search_in_use_is_refused(tmp_path: Path) -> None:
    def nested(spec: ModelSpec, seed: int) -> Trained:
        with pytest.raises(StorageError, match="another search"):
            run_search(make_task(), predict, train, directory=tmp_path)
        return train(spec, seed)

    assert len(run_search(make_task(), predict, nested, directory=tmp_path, trials=2).trials) == 2


def test_a_changed_space_is_refused(tmp_path: Path) -> None:
    run_search(make_task(), predict, train, directory=tmp_path, trials=1)
    changed = make_task(SearchSection(space=SpaceSection(dim=(2,))))
    with pytest.raises(InputError, match=r"search\.space\.dim"):
        run_search(changed, predict, train, directory=tmp_path)


def test_no_trials_are_no_search(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="trials: must be >= 1, but got 0"):
        run_search(make_task(), predict, train, directory=tmp_path, trials=0)


def test_a_folder_without_a_search_has_no_result(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run a search first"):
        load_search(tmp_path)


def test_a_search_without_a_trial_leaves_its_folder_to_another_question(tmp_path: Path) -> None:
    strict = SearchSection(space=SMALL_SPACE, constraints={"latency_ms": 0.001})
    with pytest.raises(InfeasibleError):
        run_search(make_task(strict), predict, train, directory=tmp_path, trials=1)
    other = SearchSection(space=SMALL_SPACE, objectives=("log_loss", "flops", "auc"))
    result = run_search(make_task(other), predict, train, directory=tmp_path, trials=1)
    assert set(result.reference) == {"log_loss", "flops", "auc"}
    with pytest.raises(InputError, match="asked something else"):
        run_search(make_task(strict), predict, train, directory=tmp_path, trials=1)
