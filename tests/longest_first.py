"""In which order the files are run: the longest first, so that no process is left alone with one at the end.

What is made once for all (the finished plan, compiled kernels) comes long before what needs it too, so that few wait.
"""

from collections.abc import Iterable

import pytest

__all__ = ["LONGEST", "sorted_by_length"]

LONGEST = (
    "tests/planner/cli/test_app.py",
    "tests/serving_sim/test_events.py",
    "tests/profiles/executors/test_ray_profile.py",
    "tests/profiles/test_sweep.py",
    "tests/test_docs.py",
    "tests/planner/pipeline/test_run.py",
    "tests/serving_sim/replay/test_live.py",
    "tests/profiles/results/test_browser.py",
    "tests/planner/cli/test_replaying.py",
    "tests/planner/report/test_browser.py",
    "tests/profiles/executors/test_ray.py",
    "tests/test_benchmarks.py",
    "tests/planner/cost_model/sampling/test_adaptive.py",
    "tests/planner/search/test_ray_trials.py",
    "tests/profiles/preprocessors/test_compilation.py",
)


def sorted_by_length(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The items of these files first, in this order; the others stay as they are."""
    places = {file: place for place, file in enumerate(LONGEST)}
    return sorted(items, key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
