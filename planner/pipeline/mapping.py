"""Map the search's trained candidates to the study's devices."""

from planner.cost_model.composition import CostModel
from planner.mapping.algorithm import MappingResult, map_candidates
from planner.mapping.candidate import TrainedCandidate
from planner.pipeline.data import StudyData
from planner.pipeline.workspace import Workspace
from planner.search import SearchResult
from planner.study import Study
from profiles.errors import InputError

__all__ = ["map_study", "trained_candidates"]


def trained_candidates(result: SearchResult) -> tuple[TrainedCandidate, ...]:
    """The search's feasible trials, named after their models."""
    return tuple(
        TrainedCandidate(
            name=trial.model.name,
            model=trial.model,
            accuracy=trial.accuracy,
            auc=trial.auc,
            log_loss=trial.log_loss,
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
    mapping.plan.save(workspace.plan_file)
    return mapping
