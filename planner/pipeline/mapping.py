"""Map the search's trained candidates to the study's devices."""

from collections.abc import Mapping
from dataclasses import replace

from planner.cost_model.composition import CostModel
from planner.mapping.algorithm import MappingResult, map_candidates
from planner.mapping.candidate import MEASURES, Measure, TrainedCandidate
from planner.mapping.comparison import MappingComparison, compare_mappings
from planner.mapping.feature_suggestion import suggest_features
from planner.mapping.mapped_plan import mapped_plan
from planner.pipeline.data import StudyData
from planner.pipeline.workspace import Workspace
from planner.search import SearchResult
from planner.search.candidate import candidate_key
from planner.study import Study
from profiles.errors import InputError
from serving_sim.plan import Path, Plan

__all__ = ["map_study", "trained_candidates", "with_test_metrics"]


def trained_candidates(result: SearchResult) -> tuple[TrainedCandidate, ...]:
    """The search's feasible trials, named after their models, compared by the search's first measure of quality.

    A model that was judged on several devices is one candidate.
    """
    models = {candidate_key(trial.model): trial for trial in reversed(result.feasible)}
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
        for trial in sorted(models.values(), key=lambda trial: trial.number)
        if trial.accuracy is not None
    )


def map_study(
    study: Study, data: StudyData, cost_model: CostModel, result: SearchResult, workspace: Workspace
) -> MappingResult:
    """Choose paths for every device by Algorithm 1 and write `plan.json`, and that of the best mapping beside it.

    Raises:
        InfeasibleError: no candidate fits any device's memory.
        InputError: the search has no trained candidate yet.
    """
    candidates = trained_candidates(result)
    if not candidates:
        raise InputError(f"{workspace.search}: has no trained candidate yet: search first")
    workload = study.workload.to_plan(study.folder)
    mapping = map_candidates(
        candidates, study.devices, cost_model, workload, name=study.name, zipf=data.zipf, seed=study.seed
    )
    comparison = compare_mappings(mapping.plan, candidates, study.devices, cost_model, workload, zipf=data.zipf)
    features = suggest_features(candidates, study.devices[0], cost_model, workload, data.zipf)
    mapping = replace(mapping, plan=with_test_metrics(mapping.plan, result), comparison=comparison, features=features)
    mapping.plan.save(workspace.plan_file)
    _save_exact(study, data, cost_model, result, workspace, comparison)
    return mapping


def with_test_metrics(plan: Plan, result: SearchResult) -> Plan:
    """The plan with each path's quality as it is on the test rows, which neither search nor mapping looked at."""
    tests = {trial.model.name: trial.test for trial in result.trials if trial.test}
    paths = tuple(_tested(path, tests[path.candidate]) if path.candidate in tests else path for path in plan.paths)
    note = "candidates were chosen by their quality on validation rows; accuracies here are of test rows"
    return replace(plan, paths=paths, notes=(*plan.notes, note))


def _tested(path: Path, test: Mapping[str, float]) -> Path:
    return replace(path, accuracy=test["accuracy"], auc=test["auc"], log_loss=test["log_loss"])


def _save_exact(
    study: Study,
    data: StudyData,
    cost_model: CostModel,
    result: SearchResult,
    workspace: Workspace,
    comparison: MappingComparison,
) -> None:
    """Write the plan of the best mapping; no file is left where that serves nothing."""
    workspace.exact_plan_file.unlink(missing_ok=True)
    by_name = {one.name: one for one in trained_candidates(result)}
    held = {device: [by_name[name] for name in names] for device, names in comparison.exact.chosen.items()}
    if not any(held.values()):
        return
    plan = mapped_plan(
        held,
        study.devices,
        cost_model,
        study.workload.to_plan(study.folder),
        name=f"{study.name}-exact",
        zipf=data.zipf,
        seed=study.seed,
        notes=("mapped by an integer program whose objective is the fluid bound",),
    )
    with_test_metrics(plan, result).save(workspace.exact_plan_file)
