"""The study file: what a user asks, parsed once into frozen dataclasses.

Every section owns its dataclass; no later step is handed the whole study where a section will do.
"""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from planner.study.data import DataSection
    from planner.study.device import DeviceSection
    from planner.study.loading import SCHEMA, Study, load_study, study_from_object
    from planner.study.model import FeatureChoice, ModelSection
    from planner.study.search import OBJECTIVES, SearchSection, TrainingSection
    from planner.study.sharding import DenseSection, ShardingSection
    from planner.study.space import CardinalityBounds, GroupSection, SpaceSection
    from planner.study.sweep import SweepSection
    from planner.study.workload import WorkloadSection, skew_log

__all__ = [
    "OBJECTIVES",
    "SCHEMA",
    "CardinalityBounds",
    "DataSection",
    "DenseSection",
    "DeviceSection",
    "FeatureChoice",
    "GroupSection",
    "ModelSection",
    "SearchSection",
    "ShardingSection",
    "SpaceSection",
    "Study",
    "SweepSection",
    "TrainingSection",
    "WorkloadSection",
    "load_study",
    "skew_log",
    "study_from_object",
]

# A command that needs devices alone does not wait for what sections of sharding and workloads import.
__getattr__ = lazy_attributes(
    __name__,
    {
        "OBJECTIVES": "planner.study.search",
        "SCHEMA": "planner.study.loading",
        "CardinalityBounds": "planner.study.space",
        "DataSection": "planner.study.data",
        "DenseSection": "planner.study.sharding",
        "DeviceSection": "planner.study.device",
        "FeatureChoice": "planner.study.model",
        "GroupSection": "planner.study.space",
        "ModelSection": "planner.study.model",
        "SearchSection": "planner.study.search",
        "ShardingSection": "planner.study.sharding",
        "SpaceSection": "planner.study.space",
        "Study": "planner.study.loading",
        "SweepSection": "planner.study.sweep",
        "TrainingSection": "planner.study.search",
        "WorkloadSection": "planner.study.workload",
        "load_study": "planner.study.loading",
        "skew_log": "planner.study.workload",
        "study_from_object": "planner.study.loading",
    },
)
