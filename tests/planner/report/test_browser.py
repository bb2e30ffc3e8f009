"""The page in a real browser: headless Chromium, where it is installed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.chromium import CHROMIUM, WAIT_MS, Opened, open_page, started_browser
from tests.planner.report.sample import EVIL

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def opened(browser: Browser, report: Path) -> Opened:
    return open_page(browser, report)


def test_the_page_asks_for_nothing_but_itself(opened: Opened, report: Path) -> None:
    assert opened.requests == [report.as_uri()]


def test_the_console_stays_silent(opened: Opened) -> None:
    assert opened.messages == []


def test_every_chart_has_marks(opened: Opened) -> None:
    counts = opened.page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-chart]')].map(place => [place.dataset.chart,"
        " place.querySelectorAll('svg .mark-rect path, svg .mark-symbol path, svg .mark-line path').length]))"
    )
    assert len(counts) == 16
    assert all(count > 0 for count in counts.values()), counts


def test_charts_fill_their_column_and_no_more(opened: Opened) -> None:
    over = opened.page.evaluate(
        "[...document.querySelectorAll('[data-chart]')].map(place => [place.dataset.chart, place.clientWidth,"
        " place.querySelector('svg').getBoundingClientRect().width])"
    )
    assert [(name, width, drawn) for name, width, drawn in over if drawn > width + 1] == []
    # Charts above one another have widths of their own.
    assert [(name, width, drawn) for name, width, drawn in over if drawn < width * 0.97 and name != "objectives"] == []


def test_a_click_zooms_the_icicle_and_a_double_click_goes_back(opened: Opened) -> None:
    page = opened.page
    domain = "() => window.recplanViews.icicle.scale('x').domain()"
    assert page.evaluate(domain) == [0, 1]
    rectangle = page.locator("[data-chart=icicle] .mark-rect path").nth(1)
    rectangle.click()
    page.wait_for_function("() => window.recplanViews.icicle.scale('x').domain()[1] < 1", timeout=WAIT_MS)
    page.locator("[data-chart=icicle] .mark-rect path").first.dblclick()
    page.wait_for_function("() => window.recplanViews.icicle.scale('x').domain()[1] === 1", timeout=WAIT_MS)


def test_a_narrow_window_has_no_sideways_scroll(browser: Browser, report: Path) -> None:
    narrow = open_page(browser, report, width=800)
    assert narrow.page.evaluate("document.documentElement.scrollWidth") <= 800
    narrow.page.close()


def test_names_from_users_are_shown_and_never_run(browser: Browser, hostile_report: Path) -> None:
    hostile = open_page(browser, hostile_report)
    assert (hostile.dialogs, hostile.messages, len(hostile.requests)) == ([], [], 1)
    assert EVIL in hostile.page.inner_text("h1")
    assert EVIL in hostile.page.inner_text("#table-paths")
    assert hostile.page.locator("svg text", has_text=EVIL).count() > 0
    hostile.page.close()
