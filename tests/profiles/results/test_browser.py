"""The profile's page in a real browser: clicks, and what is shown then."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from profiles.analyses.diff import diff_profiles
from profiles.model_profile import ModelProfile
from profiles.results.difference_page import write_difference
from profiles.results.page import HtmlWriter
from tests.chromium import CHROMIUM, WAIT_MS, Opened, open_page, started_browser
from tests.profiles.results.sample import EVIL, sample_profile
from tests.profiles.rows import latency, row

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

DOMAIN = "window.recplanViews.icicle.scale('x').domain()"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return HtmlWriter().write(sample_profile(), tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def opened(browser: Browser, file: Path) -> Opened:
    return open_page(browser, file)


@pytest.fixture
def page(opened: Opened) -> Page:
    """The page as it was opened."""
    for place in ("[data-chart=icicle] input[type=search]", "input[data-search=components]"):
        opened.page.fill(place, "")
    opened.page.select_option("[data-chart=icicle] select", "latency_ms")
    module(opened.page, 0).dblclick()
    wait(opened.page, f"{DOMAIN}[0] === 0 && {DOMAIN}[1] > 1")
    return opened.page


def texts(page: Page) -> list[str]:
    """What is written in the icicle."""
    found: list[str] = page.locator("[data-chart=icicle] svg .mark-text.role-mark text").all_text_contents()
    return [text for text in found if text]


def wait(page: Page, condition: str) -> None:
    page.wait_for_function(f"() => {condition}", timeout=WAIT_MS)


def module(page: Page, place: int) -> Any:
    return page.locator("[data-chart=icicle] .modules_marks path").nth(place)


def test_the_page_asks_for_nothing_and_the_console_stays_silent(opened: Opened, file: Path) -> None:
    assert (opened.requests, opened.messages, opened.dialogs) == ([file.as_uri()], [], [])


def test_a_click_zooms_in_and_a_click_on_the_line_above_goes_back(page: Page) -> None:
    assert page.evaluate(DOMAIN) == pytest.approx([0, 1.06])
    module(page, 2).click()
    wait(page, f"{DOMAIN}[1] < 1")
    assert page.evaluate(DOMAIN) == pytest.approx([0.2, 0.7])
    assert any("whole model" in text and "›   a" in text for text in texts(page))
    page.locator("svg text", has_text="whole model").click(force=True)
    wait(page, f"{DOMAIN}[1] > 1")
    assert any("click a module to zoom in" in text for text in texts(page))


def test_a_double_click_goes_back(page: Page) -> None:
    module(page, 3).click()
    wait(page, f"{DOMAIN}[0] > 0.6")
    module(page, 0).dblclick()
    wait(page, f"{DOMAIN}[0] === 0")


def test_the_colour_follows_the_metric_and_the_scale_carries_its_unit(page: Page) -> None:
    before = module(page, 2).get_attribute("fill")
    page.select_option("[data-chart=icicle] select", label="MFU")
    wait(page, "[...document.querySelectorAll('.role-legend-label text')].some((text) => /%/.test(text.textContent))")
    assert module(page, 2).get_attribute("fill") != before
    assert {"50%", "30%"} <= set(texts(page))
    assert module(page, 5).get_attribute("fill") == "#ECEFF1"


def test_a_search_marks_and_counts_what_it_finds(page: Page) -> None:
    page.fill("[data-chart=icicle] input[type=search]", "LIST")
    wait(page, "[...document.querySelectorAll('svg text')].some((text) => text.textContent.startsWith('3 of 7 match'))")
    strokes = [module(page, place).get_attribute("stroke") for place in range(6)]
    assert strokes == ["white", "white", "white", "#D55E00", "#D55E00", "#D55E00"]
    page.fill("[data-chart=icicle] input[type=search]", "nothing")
    wait(page, "[...document.querySelectorAll('svg text')].some((text) => text.textContent.startsWith('0 of 7 match'))")


def test_aggregated_estimated_and_skipped_modules_are_marked(page: Page) -> None:
    assert {"Σ list", "≈ 0", "×"} <= set(texts(page))
    assert module(page, 3).get_attribute("stroke") == "#263238"
    assert module(page, 4).get_attribute("stroke-dasharray") == "4,3"


def test_children_that_come_to_more_are_drawn_with_how_much(page: Page) -> None:
    assert {"+6%", "+20%"} <= set(texts(page))


def test_hovering_shows_the_details(page: Page) -> None:
    module(page, 2).hover()
    details = page.locator("#vg-tooltip-element.visible")
    details.wait_for(timeout=WAIT_MS)
    assert "5 ms ± 1 ms (IQR)" in details.inner_text()
    assert "50.0%" in details.inner_text()


def test_hovering_shows_no_line_without_a_text(page: Page) -> None:
    module(page, 2).hover()
    details = page.locator("#vg-tooltip-element.visible")
    details.wait_for(timeout=WAIT_MS)
    assert "because" not in details.inner_text()
    assert "its children together" not in details.inner_text()


def test_the_title_of_the_colours_is_that_of_the_metric(page: Page) -> None:
    assert "latency, ms (square-root scale)" in texts(page)
    page.select_option("[data-chart=icicle] select", label="parameters")
    wait(page, "[...document.querySelectorAll('svg text')].some((text) => /^parameters, B/.test(text.textContent))")


def shown(page: Page) -> list[str]:
    cells = page.locator("table[data-table=components] tr[data-search]:visible td:first-child")
    return [text.strip() for text in cells.all_inner_texts()]


def test_a_click_on_a_column_sorts_within_each_depth(page: Page) -> None:
    page.click("table[data-table=components] th button:has-text('Latency, ms')")
    assert shown(page) == ["net", "a", "Σ list", "(self)", f"× {EVIL}", "≈ list.0", "list.1"]
    page.click("table[data-table=components] th button:has-text('Latency, ms')")
    assert shown(page) == ["net", "(self)", "Σ list", "a", f"× {EVIL}", "list.1", "≈ list.0"]
    page.click("table[data-table=components] th button:has-text('Class')")
    assert page.get_attribute("table[data-table=components] th:nth-child(2)", "aria-sort") == "ascending"


def test_the_table_can_be_searched(page: Page) -> None:
    page.fill("input[data-search=components]", "list.")
    assert sorted(shown(page)) == ["list.1", "≈ list.0"]
    assert page.inner_text("output[data-count=components]") == "2 of 7 rows"


def test_a_narrow_window_has_no_sideways_scroll(browser: Browser, file: Path) -> None:
    narrow = open_page(browser, file, width=700)
    assert narrow.page.evaluate("document.documentElement.scrollWidth") <= 700
    narrow.page.close()


def thousand_modules() -> ModelProfile:
    rows = [row(path="", class_name="Net", in_situ=latency(1000.0))]
    for block in range(50):
        rows.append(row(path=f"b{block}", depth=1, class_name="Block", in_situ=latency(19.5)))
        rows += [row(path=f"b{block}.m{i}", depth=2, in_situ=latency(1.0), mfu=i / 40) for i in range(19)]
    return ModelProfile(rows=tuple(rows), profile_seconds=1.0, name="thousand")


def test_a_thousand_modules_are_drawn_searched_and_zoomed(browser: Browser, tmp_path: Path) -> None:
    opened = open_page(browser, HtmlWriter().write(thousand_modules(), tmp_path))
    page = opened.page
    assert page.locator("[data-chart=icicle] .modules_marks path").count() == 1001
    page.fill("[data-chart=icicle] input[type=search]", "m7")
    wait(page, "[...document.querySelectorAll('svg text')].some((text) => text.textContent.startsWith('50 of 1001'))")
    module(page, 21).click()
    wait(page, f"{DOMAIN}[1] < 0.1")
    wait(page, "[...document.querySelectorAll('svg .mark-text text')].some((text) => text.textContent === 'm7')")
    assert opened.messages == []
    page.close()


def test_the_page_of_a_difference_is_drawn_silently(browser: Browser, tmp_path: Path) -> None:
    before = sample_profile()
    rows = tuple(replace(row, in_situ=latency(9.0)) if row.path == "a" else row for row in before.rows)
    (file, *_) = write_difference(diff_profiles(before, replace(before, rows=rows, name=EVIL)), tmp_path)
    opened = open_page(browser, file)
    assert (opened.requests, opened.messages, opened.dialogs) == ([file.as_uri()], [], [])
    assert opened.page.locator("[data-chart=diff-latency_ms] .mark-rect path").count() > 0
    opened.page.close()
