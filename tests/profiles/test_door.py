import subprocess
import sys
from types import ModuleType

import pytest

import profiles
import profiles.analyses
import profiles.charts
import profiles.executors
import profiles.preprocessors
import profiles.profilers
import profiles.providers
import profiles.results
import profiles.walk

HEAVY = ("torch", "ray", "altair", "polars", "faiss", "optuna", "pydantic")


@pytest.mark.parametrize(
    "door",
    [
        profiles,
        profiles.analyses,
        profiles.charts,
        profiles.executors,
        profiles.preprocessors,
        profiles.profilers,
        profiles.providers,
        profiles.results,
        profiles.walk,
    ],
)
def test_public_names_are_sorted_and_resolve(door: ModuleType) -> None:
    assert list(door.__all__) == sorted(door.__all__)
    assert all(getattr(door, name) is not None for name in door.__all__)


def test_profiles_are_saved_loaded_and_compared_through_the_door() -> None:
    assert {"diff_profiles", "load_profile", "save_profile"} <= set(profiles.__all__)


def test_importing_the_packages_loads_nothing_heavy() -> None:
    code = (
        "import sys, profiles, profiles.analyses, profiles.charts, profiles.executors\n"
        "import profiles.providers, profiles.walk\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
