"""What a model costs, component by component, on chosen devices: one page for the review of a model."""

from typing import TYPE_CHECKING

from planner.review.subject import Subject, subject_of_module, subject_of_spec
from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from planner.review.comparison import ReviewDiff, compare_reviews
    from planner.review.finding import find_subject
    from planner.review.latencies import LatencySources, device_models
    from planner.review.page import write_review
    from planner.review.pricing import ModelReview, review_model

__all__ = [
    "LatencySources",
    "ModelReview",
    "ReviewDiff",
    "Subject",
    "compare_reviews",
    "device_models",
    "find_subject",
    "review_model",
    "subject_of_module",
    "subject_of_spec",
    "write_review",
]

# These load torch, scikit-learn or Altair when they are imported or run.
__getattr__ = lazy_attributes(
    __name__,
    {
        "LatencySources": "planner.review.latencies",
        "ModelReview": "planner.review.pricing",
        "ReviewDiff": "planner.review.comparison",
        "compare_reviews": "planner.review.comparison",
        "device_models": "planner.review.latencies",
        "find_subject": "planner.review.finding",
        "review_model": "planner.review.pricing",
        "write_review": "planner.review.page",
    },
)
