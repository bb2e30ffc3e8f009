from dataclasses import replace
from pathlib import Path

from planner.search import Predicted, run_search
from planner.search.repricing import repriced
from planner.study import SearchSection
from representations.specs import ModelSpec
from tests.planner.search.closed_form import SMALL_SPACE, make_task, predict, train


def slower(spec: ModelSpec) -> Predicted:
    before = predict(spec)
    return replace(before, latency_ms={name: 10 * value for name, value in before.latency_ms.items()})


def test_an_equal_cost_model_changes_nothing(tmp_path: Path) -> None:
    task = make_task()
    result = run_search(task, predict, train, directory=tmp_path)
    assert repriced(result, task, predict) == result


def test_every_trial_s_costs_come_from_one_cost_model(tmp_path: Path) -> None:
    task = make_task()
    result = run_search(task, predict, train, directory=tmp_path)
    now = repriced(result, task, slower)
    assert [trial.latency_ms for trial in now.trials] == [slower(trial.model).latency_ms for trial in now.trials]
    assert [trial.auc for trial in now.trials] == [trial.auc for trial in result.trials]


def test_a_trained_trial_that_now_breaks_a_limit_is_infeasible_and_says_why(tmp_path: Path) -> None:
    section = SearchSection(trials=6, space=SMALL_SPACE, constraints={"latency_ms": 1.0})
    task = make_task(section)
    result = run_search(task, predict, train, directory=tmp_path)
    now = repriced(result, task, slower)
    late = [trial for trial in now.trials if slower(trial.model).latency_ms["cpu"] > 1]
    assert late
    assert {trial.state for trial in late} == {"infeasible"}
    assert any("measured anew" in trial.reason for trial in late)
    assert not any(trial in late for trial in now.feasible)
