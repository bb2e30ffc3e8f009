"""What all tests share: Hypothesis' profile, one finished plan, kernels that are compiled once, and the order of files.

`make test` runs files in several processes. What is costly is made by the first that asks, and the others wait for it.
"""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest
from filelock import FileLock
from hypothesis import settings

from tests.compiled_once import compile_once
from tests.longest_first import sorted_by_length
from tests.small_study import SMALL_STUDY

# No deadlines, since machines are shared, and the same examples in every run of CI.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
# Nothing here depends on how quiet the core is, and with files in several processes it seldom is.
os.environ.setdefault("RECPLAN_PATIENCE", "0")
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config.option, "loadscopereorder"):
        # pytest-xdist would begin with the files of most tests.
        config.option.loadscopereorder = False


def pytest_collection_finish() -> None:
    # Sweeps collect garbage, which takes a second where all of torch's and pytest's objects are looked at.
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = sorted_by_length(items)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run that all its processes see."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session", autouse=True)
def _compile_once(shared_folder: Path) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        compile_once(shared_folder)


@pytest.fixture(scope="session", autouse=True)
def _hasty_sweeps() -> Iterator[None]:
    """A study's components are visited no more often where the core is never quiet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("planner.pipeline.sweeping._MOST_VISITS", 1)
        yield


@pytest.fixture(scope="session")
def finished_plan(shared_folder: Path) -> Path:
    """The folder that `recplan plan` filled for the small study; to be read, not written to."""
    from planner.cli.app import run

    study, out, finished = (shared_folder / name for name in ("small.toml", "small", "small.finished"))
    with FileLock(shared_folder / "small.lock"):
        if not finished.exists():
            study.write_text(SMALL_STUDY, encoding="utf-8")
            assert run(["plan", str(study), "--out", str(out)]) == 0
            finished.touch()
    return out


@pytest.fixture(scope="session")
def study_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small study."""
    file = tmp_path_factory.mktemp("study") / "small.toml"
    file.write_text(SMALL_STUDY, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def planned(finished_plan: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the finished plan's folder, for the tests of one file."""
    return copytree(finished_plan, tmp_path_factory.mktemp("planned") / "out")
