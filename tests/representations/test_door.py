import subprocess
import sys
from importlib import import_module

import pytest

import representations

DOORS = ["representations", "representations.datasets", "representations.dhe", "representations.mp_cache"]


@pytest.mark.parametrize("package", DOORS)
def test_the_public_names_are_sorted_and_there(package: str) -> None:
    door = import_module(package)
    assert door.__all__ == sorted(door.__all__)
    assert all(getattr(door, name) is not None for name in door.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        representations.nonsense  # noqa: B018 (looking it up is the test)


@pytest.mark.parametrize("module", [*DOORS, "representations.provider"])
def test_importing_loads_no_heavy_library(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('torch','polars','sklearn','numba','ray') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"
