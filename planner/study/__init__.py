"""The study file: what a user asks, parsed once into frozen dataclasses.

Every section owns its dataclass; no later step is handed the whole study where a section will do.
"""

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
