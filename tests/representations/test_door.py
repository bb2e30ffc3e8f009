import subprocess
import sys

import pytest

import representations


def test_the_public_names_are_sorted_and_there() -> None:
    assert representations.__all__ == sorted(representations.__all__)
    assert all(getattr(representations, name) is not None for name in representations.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        representations.nonsense  # noqa: B018 (looking it up is the test)


@pytest.mark.parametrize("module", ["representations", "representations.provider", "representations.datasets"])
def test_importing_loads_no_heavy_library(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('torch','polars','sklearn','numba','ray') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"
