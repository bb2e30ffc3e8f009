"""The sample's page and its hostile twin, each made once for all tests."""

from pathlib import Path

import pytest

from planner.report import build_report
from tests.planner.report.sample import hostile_inputs, sample_inputs


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_report(sample_inputs(), tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_report(hostile_inputs(), tmp_path_factory.mktemp("hostile"))
