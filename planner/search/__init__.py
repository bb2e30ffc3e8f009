"""Search for candidates that no other one beats: accuracy from training, latency and bytes from the cost model."""

from typing import TYPE_CHECKING

from planner.search.candidate import build_candidate
from planner.search.evaluation import Predicted, Predictor, RungStep, RungTrainer, Trained, Trainer
from planner.search.executor import InProcessTrials, TrialExecutor
from planner.search.hypervolume import hypervolume
from planner.search.pareto import non_dominated
from planner.search.progress import SearchProgress
from planner.search.records import SearchResult, TrialRecord
from planner.search.search_space import SearchSpace, search_space
from planner.search.space import enumerate_choices, space_size
from planner.search.task import SearchTask
from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from planner.search.charts import front_chart, front_frame
    from planner.search.front_screening import FrontScreening, ScreenedFront, screen_front
    from planner.search.journal import load_search
    from planner.search.ray_trials import RayTrials
    from planner.search.runner import run_search

__all__ = [
    "FrontScreening",
    "InProcessTrials",
    "Predicted",
    "Predictor",
    "RayTrials",
    "RungStep",
    "RungTrainer",
    "ScreenedFront",
    "SearchProgress",
    "SearchResult",
    "SearchSpace",
    "SearchTask",
    "Trained",
    "Trainer",
    "TrialExecutor",
    "TrialRecord",
    "build_candidate",
    "enumerate_choices",
    "front_chart",
    "front_frame",
    "hypervolume",
    "load_search",
    "non_dominated",
    "run_search",
    "screen_front",
    "search_space",
    "space_size",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "FrontScreening": "planner.search.front_screening",
        "RayTrials": "planner.search.ray_trials",
        "front_chart": "planner.search.charts",
        "front_frame": "planner.search.charts",
        "load_search": "planner.search.journal",
        "run_search": "planner.search.runner",
        "ScreenedFront": "planner.search.front_screening",
        "screen_front": "planner.search.front_screening",
    },
)
