from dataclasses import replace

import pytest

from planner.cli.review_tables import show_difference, show_review
from planner.review.comparison import compare_reviews
from planner.review.pricing import ModelReview
from tests.planner.review.small_models import CPU, DHE, GPU, SPEC, review_of


def lines_of(review: ModelReview, capsys: pytest.CaptureFixture[str]) -> list[str]:
    show_review(review, 24)
    return capsys.readouterr().out.splitlines()


def table_of(lines: list[str], title: str) -> list[str]:
    """The lines of a table behind its title, down to its totals."""
    at = next(i for i, line in enumerate(lines) if line.startswith(title)) + 1
    starts = ("On ", "Work of ", "local-cpu: ", "v100: ", "note: ")
    length = next((i for i, line in enumerate(lines[at:]) if line.startswith(starts)), len(lines) - at)
    return lines[at : at + length]


def test_work_by_formula_stands_once_for_all_devices(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = "\n".join(lines_of(review_of(DHE), capsys))
    assert text.count("Work of a pass") == text.count("FLOPs") == 1


def test_differences_fit_eighty_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show_difference(compare_reviews(review_of(SPEC), review_of(DHE)), 24)
    table = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("Against")]
    assert any("new" in line for line in table)
    assert [line for line in table if len(line.rstrip()) > 80] == []


def test_columns_that_no_component_fills_are_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    free = replace(CPU, price_per_hour=None)
    (head, *_) = table_of(lines_of(review_of(SPEC, free), capsys), "On local-cpu")
    assert "MFU" not in head
    heads = table_of(lines_of(review_of(SPEC, GPU), capsys), "On v100")
    assert "MFU" in " ".join(heads[:2])


def test_an_interval_says_its_unit_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    review = review_of(SPEC, CPU)
    (device,) = review.devices
    row = replace(device.components[0], low_ms=0.0712, high_ms=0.0736)
    wide = replace(row, low_ms=0.98, high_ms=1.02)
    text = "\n".join(lines_of(replace(review, devices=(replace(device, components=(row, wide)),)), capsys))
    assert "71.2-73.6 µs" in text
    assert "980 µs-1.02 ms" in text
