"""Map the search's trained candidates to the study's devices."""

from collections.abc import Mapping
from dataclasses import replace

from planner.cost_model.composition import CostModel
from planner.mapping.algorithm import MappingResult, map_candidates
from planner.mapping.candidate import MEASURES, Measure, TrainedCandidate
from planner.pipeline.data import StudyData
from planner.pipeline.workspace import Workspace
from planner.search import SearchResult
from planner.study import Study
from profiles.errors import InputError
from serving_sim.plan import Path, Plan

__all__ = ["map_study", "trained_candidates", "with_test_metrics"]


def trained_candidates(result: SearchResult) -> tuple[TrainedCandidate, ...]:
    """The search's feasible trials, named after their models, compared by the search's first measure of quality."""
    measure: Measure = next((one for name in result.objectives for one in MEASURES if one == name), "accuracy")
    return tuple(
        TrainedCandidate(
            name=trial.model.name,
            model=trial.model,
            accuracy=trial.accuracy,
            auc=trial.auc,
            log_loss=trial.log_loss,
            measure=measure,
        )
        for trial in result.feasible
        if trial.accuracy is not None
    )


def map_study(
    study: Study, data: StudyData, cost_model: CostModel, result: SearchResult, workspace: Workspace
) -> MappingResult:
    """Choose paths for every device and write `plan.json`.

    Raises:
        InfeasibleError: no candidate fits any device's memory.
        InputError: the search has no trained candidate yet.
    """
    candidates = trained_candidates(result)
    if not candidates:
        raise InputError(f"{workspace.search}: has no trained candidate yet: search first")
    mapping = map_candidates(
        candidates,
        study.devices,
        cost_model,
        study.workload.to_plan(study.folder),
        name=study.name,
        zipf=data.zipf,
        seed=study.seed,
    )
    mapping = replace(mapping, plan=with_test_metrics(mapping.plan, result))
    mapping.plan.save(workspace.plan_file)
    return mapping


def with_test_metrics(plan: Plan, result: SearchResult) -> Plan:
    """The plan with each path's quality as it is on the test rows, which neither search nor mapping looked at."""
    tests = {trial.model.name: trial.test for trial in result.trials if trial.test}
    paths = tuple(_tested(path, tests[path.candidate]) if path.candidate in tests else path for path in plan.paths)
    note = "candidates were chosen by their quality on validation rows; accuracies here are of test rows"
    return replace(plan, paths=paths, notes=(*plan.notes, note))


def _tested(path: Path, test: Mapping[str, float]) -> Path:
    return replace(path, accuracy=test["accuracy"], auc=test["auc"], log_loss=test["log_loss"])
