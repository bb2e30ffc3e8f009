"""From a study file to an answer: cost model, search, mapping, report, command line."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from planner.cost_model.catalogue import RooflineDeviceModel
    from planner.cost_model.composition import CostModel, ModelLatency
    from planner.cost_model.model import fit_device_model
    from planner.cost_model.validation import ValidationReport, validate
    from planner.mapping.algorithm import MappingResult, map_candidates
    from planner.mapping.candidate import TrainedCandidate
    from planner.pipeline.run import PlanResult, run_plan
    from planner.report.save import build_report, rebuild_report
    from planner.search.records import SearchResult, TrialRecord
    from planner.search.runner import run_search
    from planner.study import Study, load_study, study_from_object

__all__ = [
    "CostModel",
    "MappingResult",
    "ModelLatency",
    "PlanResult",
    "RooflineDeviceModel",
    "SearchResult",
    "Study",
    "TrainedCandidate",
    "TrialRecord",
    "ValidationReport",
    "build_report",
    "fit_device_model",
    "load_study",
    "map_candidates",
    "rebuild_report",
    "run_plan",
    "run_search",
    "study_from_object",
    "validate",
]

# These load scikit-learn, Optuna, Altair or torch when they run, and much of the rest when they are imported; a study
# loads pydantic, which a simulation can do without.
__getattr__ = lazy_attributes(
    __name__,
    {
        "CostModel": "planner.cost_model.composition",
        "MappingResult": "planner.mapping.algorithm",
        "ModelLatency": "planner.cost_model.composition",
        "PlanResult": "planner.pipeline.run",
        "RooflineDeviceModel": "planner.cost_model.catalogue",
        "SearchResult": "planner.search.records",
        "Study": "planner.study",
        "TrainedCandidate": "planner.mapping.candidate",
        "TrialRecord": "planner.search.records",
        "ValidationReport": "planner.cost_model.validation",
        "build_report": "planner.report.save",
        "fit_device_model": "planner.cost_model.model",
        "load_study": "planner.study",
        "map_candidates": "planner.mapping.algorithm",
        "rebuild_report": "planner.report.save",
        "run_plan": "planner.pipeline.run",
        "run_search": "planner.search.runner",
        "study_from_object": "planner.study",
        "validate": "planner.cost_model.validation",
    },
)
