"""The shape of the distribution: what it contains, who imports whom, and what importing costs."""

import ast
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("profiles", "representations", "serving_sim", "planner")
HEAVY = ("torch", "ray", "altair", "faiss", "optuna", "torchrec")


def sources(package: str) -> Iterator[Path]:
    return (path for path in (ROOT / package).rglob("*.py") if "__pycache__" not in path.parts)


def imported_packages(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize(("rank", "package"), list(enumerate(LAYERS)))
def test_imports_go_down_the_layers_only(rank: int, package: str) -> None:
    above = set(LAYERS[rank + 1 :]) | {"tests"}
    wrong = {
        str(path.relative_to(ROOT)): found for path in sources(package) if (found := imported_packages(path) & above)
    }
    assert wrong == {}


def test_every_folder_of_code_is_in_the_package_list() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    found = sorted({".".join(path.parent.relative_to(ROOT).parts) for layer in LAYERS for path in sources(layer)})
    assert listed == found


def test_the_wheel_holds_exactly_the_four_packages(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for package in LAYERS:
        shutil.copytree(ROOT / package, checkout / package, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, checkout / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(tmp_path), str(checkout)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("recplan-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == set(LAYERS)
    for bundled in ("profiles/py.typed", "profiles/data/catalogue.toml", "representations/data/flights.parquet"):
        assert bundled in names


@pytest.mark.parametrize("package", LAYERS)
def test_importing_a_package_loads_no_heavy_library(package: str) -> None:
    script = f"import {package}, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_a_review_imports_no_library_that_only_fits_or_studies_need() -> None:
    unwanted = ("sklearn", "scipy", "planner.pipeline", "planner.search", "planner.distributed", "serving_sim")
    script = f"import planner.review.latencies, sys; print([name for name in {unwanted!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
