"""A benchmark of a device by itself, after PARAM's compute suite: what it achieves of its peaks.

Matrix products by size and dtype; a 20-layer MLP forward, backward and SGD by dtype; 64 embedding tables forward and
backward with the optimizer, the caches swept before every call; the trip of their ids to the device, in one tensor and
in two per table.
"""

from typing import TYPE_CHECKING

from planner.cost_model.suite.cases import SuiteCase, suite_cases
from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from planner.cost_model.suite.provider import SuiteProvider
    from planner.cost_model.suite.run import SuiteRow, run_suite

__all__ = ["SuiteCase", "SuiteProvider", "SuiteRow", "run_suite", "suite_cases"]

__getattr__ = lazy_attributes(
    __name__,
    {
        "SuiteProvider": "planner.cost_model.suite.provider",
        "SuiteRow": "planner.cost_model.suite.run",
        "run_suite": "planner.cost_model.suite.run",
    },
)
