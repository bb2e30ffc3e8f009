from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planner.report import build_report
from planner.report.inputs import ValidationInputs
from planner.report.validation import error_rows, in_situ_table, model_batch_table, validation_section
from planner.report.validation_charts import batch_chart, curve_rows, floor_of, in_situ_rows, more_charts, scatter_chart
from planner.report.validation_page import build_validation_page, validation_answer
from tests.chromium import CHROMIUM, WAIT_MS, open_page, started_browser
from tests.planner.report.sample import sample_inputs
from tests.planner.report.thorough import thorough_validation

THOROUGH = thorough_validation()


def test_two_charts_are_seen_at_once_and_the_rest_is_folded() -> None:
    section = validation_section(THOROUGH)
    assert [chart.name for chart in section.charts] == ["predicted_against_measured", "error_by_batch"]
    assert [chart.name for chart in section.folded] == ["error_by_share", "learning_curve", "error_in_situ"]
    open_section = validation_section(THOROUGH, fold=False)
    assert open_section.all_charts == (*section.charts, *section.folded) == open_section.charts


def test_a_validation_that_was_not_thorough_has_fewer_charts() -> None:
    summary = {key: value for key, value in THOROUGH.summary.items() if key in {"noise_floor", "components"}}
    plain = ValidationInputs(summary=summary, points=THOROUGH.points)
    section = validation_section(plain)
    assert [chart.name for chart in section.all_charts] == ["predicted_against_measured"]
    assert in_situ_table(summary) is None


def test_every_chart_shows_the_noise_floor() -> None:
    chart = batch_chart(THOROUGH)
    assert chart
    carried, curve, _ = more_charts(THOROUGH)
    assert all("noise floor" in str(one.spec) for one in (chart, carried, curve))
    assert "noise_low_ms" in str(scatter_chart(THOROUGH).spec)
    assert "noise_high_ms" not in str(scatter_chart(replace(THOROUGH, summary={})).spec["layer"])


def test_the_learning_curve_takes_the_median_over_orders() -> None:
    points = [
        {"kind": "linear", "family": "linear", "points": 10, "order": i, "mape": m} for i, m in enumerate((3, 1, 2))
    ]
    assert curve_rows(tuple(points)) == ({"kind": "linear", "family": "linear", "points": 10, "mape": 2},)


def test_parts_of_a_running_model_are_summed_by_kind() -> None:
    rows = in_situ_rows(THOROUGH.in_situ)
    parts = {(row["model"], row["kind"]): row["part"] for row in rows}
    assert parts["table (trial-3)", "embedding"] == pytest.approx(0.2)
    table = in_situ_table(THOROUGH.summary)
    assert table
    assert table.rows[0]["worst"] == "embedding +20.0%"


def test_a_kind_has_one_colour_on_every_chart_of_a_page() -> None:
    parts = [{**row, "kind": kind} for row in THOROUGH.in_situ for kind in ("id_map", "id_split", "robe", "projection")]
    crowded = replace(THOROUGH, in_situ=(*THOROUGH.in_situ, *parts))
    by_batch = batch_chart(crowded)
    assert by_batch
    scales = [
        view["encoding"]["color"]["scale"]
        for chart in (scatter_chart(crowded), by_batch, *more_charts(crowded)[1:])
        for view in _views(chart.spec)
        if "color" in view.get("encoding", {})
    ]
    colours = {(kind, colour) for scale in scales for kind, colour in zip(scale["domain"], scale["range"], strict=True)}
    assert len(colours) == len({kind for kind, _ in colours}) == len({colour for _, colour in colours}) > 7


def test_the_noise_floor_is_a_mean_where_that_is_known() -> None:
    assert floor_of({"noise_floor": {"median": 0.02, "mean": 0.03}}) == 0.03
    assert floor_of({"noise_floor": {"median": 0.02}}) == 0.02
    assert floor_of({}) is None
    assert error_rows({"noise_floor": {"median": 0.02, "mean": 0.03}})[0]["mape"] == 0.03


def test_the_answer_of_a_validation_says_what_cancels() -> None:
    answer = validation_answer(THOROUGH.summary)
    assert answer.headline.startswith("Unseen models are predicted with a mean error of 6.3 %; a measurement repeats")
    assert any("cancels in the total" in sentence for sentence in answer.sentences)
    assert validation_answer({}).headline == "Nothing could be held out."
    assert "at worst" in validation_answer({"components": THOROUGH.summary["components"]}).headline


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_folded_charts_fill_their_column_once_they_are_opened(tmp_path: Path) -> None:
    page = build_report(sample_inputs(validation=THOROUGH, serving=None), tmp_path)
    with started_browser() as browser:
        opened = open_page(browser, page, width=800)
        opened.page.click("details.more > summary")
        opened.page.wait_for_function(
            "() => [...document.querySelectorAll('details.more svg.marks')].every(one => one.clientWidth > 500)",
            timeout=WAIT_MS,
        )
        assert opened.messages == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 800


def test_a_validation_is_a_page_of_its_own(tmp_path: Path) -> None:
    page = build_validation_page(THOROUGH, "quickstart", tmp_path, ("flights",))
    assert "recplan validation" in page.read_text(encoding="utf-8")
    names = {path.stem for path in (tmp_path / "frames").glob("*.parquet")}
    assert {"errors", "error_by_batch", "error_by_share", "learning_curve", "error_in_situ", "in_situ"} <= names
    assert "models_by_batch" in names


def test_whole_models_are_shown_by_batch_with_the_agreement_of_their_order() -> None:
    table = model_batch_table(THOROUGH.summary)
    assert table
    assert [row["batch"] for row in table.rows] == [1, 32, 1024]
    assert "Tau" in [column.title for column in table.filled_columns]
    assert model_batch_table({}) is None


def _views(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    inner = [view for layer in spec.get("layer", ()) for view in _views(layer)]
    return [spec, *inner]
