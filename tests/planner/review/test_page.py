import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser

from planner.report.cells import format_value
from planner.review.comparison import compare_reviews
from planner.review.page import SCHEMA, write_review
from planner.review.pricing import ComponentCost
from planner.review.sections import review_answer, review_sections
from tests.chromium import CHROMIUM, open_page, started_browser
from tests.planner.review.small_models import CPU, DHE, GPU, SPEC, review_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("review")
    after = review_of(DHE)
    write_review(after, out, compare_reviews(review_of(SPEC), after), "a processor")
    return out


def test_the_page_its_frames_charts_and_json_lie_side_by_side(folder: Path) -> None:
    body = json.loads((folder / "review.json").read_text(encoding="utf-8"))
    assert (body["schema"], body["against"]["against"]) == (SCHEMA, "small")
    names = {path.stem for path in (folder / "frames").glob("*.csv")}
    assert names == {path.stem for path in (folder / "frames").glob("*.parquet")}
    assert {"kinds", "devices", "components", "changes_v100"} <= names
    assert {"kinds", "components"} <= {path.name.split(".")[0] for path in (folder / "charts").iterdir()}
    frame = pl.read_parquet(folder / "frames" / "components.parquet")
    assert frame["device"].unique().sort().to_list() == [CPU.name, GPU.name]


def test_the_answer_says_what_a_pass_takes_and_what_changed() -> None:
    after = review_of(DHE)
    answer = review_answer(after, compare_reviews(review_of(SPEC), after))
    assert answer.headline.startswith("A pass of 64 samples through dhe takes ")
    assert "on local-cpu (measured) and" in answer.headline
    assert any(sentence.startswith("Against small it takes") for sentence in answer.sentences)
    assert {tile.label for tile in answer.tiles} >= {"Latency on v100", "Parameters", "Cost on local-cpu"}


def test_a_change_against_the_total_is_no_cause_of_it() -> None:
    after = review_of(DHE, CPU)
    diff = compare_reviews(review_of(SPEC, CPU), after)
    (one,) = diff.devices
    assert one.change_ms > 0
    (cause,) = [sentence for sentence in review_answer(after, diff).sentences if "Against small" in sentence]
    assert "The greatest change is embeddings.0" in cause
    assert "outweigh" not in cause
    turned = replace(one, components=tuple(sorted(one.components, key=lambda row: row.change_ms)))
    (cause,) = [s for s in review_answer(after, replace(diff, devices=(turned,))).sentences if "Against small" in s]
    assert cause.endswith(", which others outweigh.")


def test_without_another_target_there_is_no_comparison() -> None:
    sections = review_sections(review_of(SPEC, CPU), None)
    assert [section.anchor for section in sections] == ["devices", "components", "provenance"]


def test_energy_reads_in_units_and_never_with_an_exponent() -> None:
    sections = review_sections(review_of(SPEC, GPU), None)
    tables = [table for section in sections for table in section.tables]
    columns = [(table, column) for table in tables for column in table.columns if column.title == "Energy"]
    assert [table.name for table, _ in columns] == ["devices", "components_table"]
    for table, column in columns:
        texts = [format_value(row[column.key], column.kind) for row in table.rows]
        assert all(re.fullmatch(r"[\d.]+ [nµmkM]?J", text) for text in texts), texts


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("width", [1280, 800])
def test_the_page_opens_offline_in_any_width(browser: Browser, folder: Path, width: int) -> None:
    opened = open_page(browser, folder / "review.html", width=width)
    assert (opened.messages, len(opened.requests)) == ([], 1)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    opened.page.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_tables_fit_the_page_whatever_the_paths(browser: Browser, tmp_path: Path) -> None:
    review = review_of(DHE)
    deep = (replace(device, components=tuple(map(_deep, device.components))) for device in review.devices)
    review = replace(review, devices=tuple(deep))
    opened = open_page(browser, write_review(review, tmp_path, compare_reviews(review_of(SPEC), review)))
    tables = opened.page.evaluate(
        "[...document.querySelectorAll('.table')].map(one => [one.id, one.scrollWidth, one.clientWidth])"
    )
    assert {"table-components_local-cpu", "table-components_v100", "table-devices"} <= {name for name, _, _ in tables}
    assert [one for one in tables if one[1] > one[2] and not one[0].startswith("table-changes")] == []
    opened.page.close()


def _deep(row: ComponentCost) -> ComponentCost:
    """The component as in someone else's larger model."""
    return replace(row, path=f"model.sparse_arch.collection.{row.path}", size="26 × 1,460,000 × 128")
