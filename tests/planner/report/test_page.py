import json
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from planner.report import ReportInputs, build_report, rebuild_report
from profiles.errors import StorageError
from tests.planner.report.sample import FINGERPRINT
from tests.profiles.test_parts import file_size_limit


class Scripts(HTMLParser):
    """Counts the script elements, as a browser would open them."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self.opened.append(dict(attrs))


@pytest.fixture
def folder(report: Path) -> Path:
    return report.parent


def test_every_table_and_chart_has_its_rows_beside_it(folder: Path) -> None:
    frames = {file.name for file in (folder / "frames").iterdir()}
    assert {"components.parquet", "components.json", "front.parquet", "policies.json", "study.parquet"} <= frames
    assert len(frames) % 2 == 0


def test_the_frame_and_its_json_hold_the_same_rows(folder: Path) -> None:
    rows = json.loads((folder / "frames" / "policies.json").read_text())
    assert pl.read_parquet(folder / "frames" / "policies.parquet").to_dicts() == rows


def test_charts_stand_beside_the_page_as_vega_lite(folder: Path) -> None:
    spec = json.loads((folder / "charts" / "capacity.vl.json").read_text())
    assert "vega-lite" in spec["$schema"]


def test_the_page_names_no_address_to_load_from(folder: Path) -> None:
    head = (folder / "report.html").read_text(encoding="utf-8").split("<script", 1)[0]
    assert "http://" not in head
    assert "https://" not in head
    assert "default-src 'none'" in head


def test_the_page_can_be_made_again_from_its_folder(folder: Path) -> None:
    before = (folder / "report.html").read_text(encoding="utf-8")
    assert rebuild_report(folder).read_text(encoding="utf-8") == before


def test_names_from_users_open_no_script(report: Path, hostile_report: Path) -> None:
    counts = []
    for page in (report, hostile_report):
        parser = Scripts()
        parser.feed(page.read_text(encoding="utf-8"))
        counts.append(parser.opened)
    assert counts[0] == counts[1]


def test_a_full_disk_leaves_the_old_page(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("the old page")
    with file_size_limit(20_000), pytest.raises(StorageError):
        build_report(ReportInputs(name="bare", created="", study={}, fingerprint=FINGERPRINT), tmp_path)
    assert page.read_text() == "the old page"
