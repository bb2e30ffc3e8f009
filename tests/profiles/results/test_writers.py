"""Every writer, by the contract that a third-party one is held to, and how writers are found."""

import subprocess
import sys
from pathlib import Path

import pytest

from profiles.errors import UnknownNameError
from profiles.registry import Registry
from profiles.results import ResultWriter, result_writers
from profiles.testing import ResultWriterContract
from tests.profiles.results.sample import sample_profile


class TestJsonWriter(ResultWriterContract):
    def writer(self) -> ResultWriter:
        return result_writers.get("json")()


class TestCsvWriter(ResultWriterContract):
    def writer(self) -> ResultWriter:
        return result_writers.get("csv")()


class TestParquetWriter(ResultWriterContract):
    def writer(self) -> ResultWriter:
        return result_writers.get("parquet")()


class TestHtmlWriter(ResultWriterContract):
    def writer(self) -> ResultWriter:
        return result_writers.get("html")()


class TestChartsWriter(ResultWriterContract):
    def writer(self) -> ResultWriter:
        return result_writers.get("charts")()


class TestTensorBoardWriter(ResultWriterContract):
    def writer(self) -> ResultWriter:
        return result_writers.get("tensorboard")()


def test_writers_are_found_by_the_name_they_have() -> None:
    assert result_writers.names() == ("charts", "csv", "html", "json", "parquet", "tensorboard")
    assert [result_writers.get(name)().name for name in result_writers] == list(result_writers)


def test_an_unknown_writer_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="result writer: unknown name 'pdf'; known: charts, csv"):
        result_writers.get("pdf")


def install(site: Path, entry_point: str) -> None:
    """A package as pip leaves it: a module and its metadata."""
    (site / "third_party_writer.py").write_text(
        "class Counter:\n"
        "    name = 'count'\n"
        "    def write(self, profile, folder):\n"
        "        folder.mkdir(parents=True, exist_ok=True)\n"
        "        path = folder / 'count.txt'\n"
        "        path.write_text(str(len(profile.rows)))\n"
        "        return path\n"
    )
    metadata = site / "third_party_writer-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party-writer\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[recplan.results]\ncount = {entry_point}\n")


def test_an_installed_package_adds_a_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "third_party_writer:Counter")
    monkeypatch.syspath_prepend(str(tmp_path))
    found: Registry[type[ResultWriter]] = Registry("result writer", entry_point_group="recplan.results")
    written = found.get("count")().write(sample_profile(), tmp_path / "out")
    assert written.read_text() == "7"


def test_an_entry_point_that_cannot_be_loaded_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "third_party_writer:Missing")
    monkeypatch.syspath_prepend(str(tmp_path))
    found: Registry[type[ResultWriter]] = Registry("result writer", entry_point_group="recplan.results")
    with pytest.warns(UserWarning, match=r"'count' is left out: entry point 'third_party_writer:Missing' cannot"):
        assert found.names() == ()


def test_importing_the_results_loads_neither_altair_nor_polars_nor_torch() -> None:
    script = (
        "import sys, profiles.results; "
        "print([name for name in ('altair', 'polars', 'jinja2', 'torch', 'tensorboard') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
