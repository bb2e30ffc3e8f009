"""Which components to measure, so that the cost model is good everywhere for the least measuring."""

from typing import TYPE_CHECKING

from planner.cost_model.sampling.budget import SamplingBudget
from planner.cost_model.sampling.default_spaces import calibration_spaces
from planner.cost_model.sampling.space import Dimension, SamplingSpace, natural_sizes
from planner.cost_model.sampling.study_spaces import spaces_of
from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from planner.cost_model.sampling.adaptive import AdaptiveResult, FamilySampling, adaptive_sweep

__all__ = [
    "AdaptiveResult",
    "Dimension",
    "FamilySampling",
    "SamplingBudget",
    "SamplingSpace",
    "adaptive_sweep",
    "calibration_spaces",
    "natural_sizes",
    "spaces_of",
]

__getattr__ = lazy_attributes(
    __name__,
    dict.fromkeys(("AdaptiveResult", "FamilySampling", "adaptive_sweep"), "planner.cost_model.sampling.adaptive"),
)
