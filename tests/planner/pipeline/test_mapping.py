from dataclasses import replace
from pathlib import Path

import pytest

from planner.pipeline.mapping import trained_candidates, with_test_metrics
from planner.search import load_search
from serving_sim.plan import load_plan
from tests.planner.search.test_records import make_record, make_result


def test_the_search_judges_by_validation_and_the_plan_reports_test_rows(planned: Path) -> None:
    search, plan = load_search(planned / "search"), load_plan(planned / "plan.json")
    trials = {trial.model.name: trial for trial in search.trials}
    for path in plan.paths:
        assert path.accuracy == trials[path.candidate].test["accuracy"]
        assert path.auc == trials[path.candidate].test["auc"]
    by_name = {candidate.name: candidate for candidate in trained_candidates(search)}
    assert all(by_name[name].accuracy == trial.accuracy for name, trial in trials.items() if name in by_name)
    assert any(trial.test["auc"] != pytest.approx(trial.auc) for trial in search.trials)


def test_a_path_whose_candidate_was_not_tested_keeps_its_figures(planned: Path) -> None:
    search, plan = load_search(planned / "search"), load_plan(planned / "plan.json")
    untested = with_test_metrics(plan, type(search)(objectives=("auc",), latency_device="cpu", trials=()))
    assert untested.paths == plan.paths


def test_a_model_judged_on_several_devices_is_one_candidate() -> None:
    here, there = make_record(0), make_record(1)
    there = replace(there, model=there.model.renamed("table-d4-gpu"), choices={**there.choices, "device": "gpu"})
    other = make_record(2, dim=8)
    assert [one.name for one in trained_candidates(make_result(here, there, other))] == [
        here.model.name,
        other.model.name,
    ]


def test_the_best_mapping_is_kept_beside_the_plan(planned: Path) -> None:
    plan, exact = load_plan(planned / "plan.json"), load_plan(planned / "plan-exact.json")
    assert exact.name == f"{plan.name}-exact"
    assert {path.candidate for path in exact.paths} <= {
        trial.model.name for trial in load_search(planned / "search").trials
    }
    for device in exact.devices:
        held = sum(path.parameter_bytes for path in exact.paths if path.device == device.name)
        assert held <= (device.memory_bytes or 0)
