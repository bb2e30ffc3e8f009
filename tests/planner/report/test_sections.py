from dataclasses import replace

import pytest

from planner.report import ReportInputs, ServingInputs
from planner.report.blocks import Chart, Column, Section, Table
from planner.report.components import component_rows
from planner.report.facts import serving_facts
from planner.report.inputs import MappingInputs
from planner.report.mapping import mapping_section, memory_rows, path_rows
from planner.report.origin import origin_section, study_rows
from planner.report.pareto import front_rows, pareto_rows, search_section
from planner.report.sections import answer_of, sections_of
from planner.report.serving import policy_rows, serving_section
from planner.report.validation import error_rows, validation_section
from serving_sim.plan import Sizes, Workload
from tests.planner.report.sample import (
    FINGERPRINT,
    capacity,
    profile_row,
    sample_inputs,
    sample_plan,
    sample_profile,
    sample_search,
    sample_serving,
    sample_validation,
    simulation,
)


@pytest.fixture(scope="module")
def sections() -> dict[str, Section]:
    return {section.anchor: section for section in sections_of(sample_inputs())}


def test_the_page_has_its_sections_in_order(sections: dict[str, Section]) -> None:
    assert list(sections) == ["components", "validation", "search", "mapping", "serving", "provenance"]


def test_a_section_without_inputs_says_so() -> None:
    bare = ReportInputs(name="bare", created="2026-03-02", study={}, fingerprint=FINGERPRINT)
    missing = [section.anchor for section in sections_of(bare) if section.missing]
    assert missing == ["components", "validation", "search", "mapping", "serving"]
    assert not answer_of(bare).tiles


def test_every_table_and_chart_has_a_name_of_its_own(sections: dict[str, Section]) -> None:
    charts = [chart.name for section in sections.values() for chart in section.charts]
    tables = [table.name for section in sections.values() for table in section.tables]
    assert len({*charts, *tables}) == len(charts) + len(tables)


def test_every_chart_says_in_words_what_it_shows(sections: dict[str, Section]) -> None:
    charts = [chart for section in sections.values() for chart in section.charts]
    assert len(charts) == 16
    assert all(chart.summary and chart.rows for chart in charts)


def test_columns_that_no_row_fills_are_left_out() -> None:
    columns = (Column(key="a", title="A"), Column(key="b", title="B"))
    table = Table(name="t", caption="", columns=columns, rows=({"a": 0, "b": None}, {"a": 1, "b": ""}))
    assert [column.key for column in table.filled_columns] == ["a"]


def test_rows_that_are_not_shown_are_left_to_the_frame() -> None:
    rows = ({"x": 1}, {"x": 2}, {"x": 3})
    assert Table(name="t", caption="", columns=(), rows=rows, most=1).left_out == 2
    table = Table(name="t", caption="", columns=(), rows=rows, shown=(rows[2], {"x": "1 and 2"}))
    assert (table.shown_rows[0], table.left_out) == ({"x": 3}, 2)


def test_numbered_embeddings_are_called_by_their_feature() -> None:
    names = {"embeddings.0": "carrier"}
    rows = component_rows((profile_row("", "Model", 0, 1.0), profile_row("embeddings.0", "Bag", 2, 0.5)), names)
    assert [row["label"] for row in rows] == ["whole model", "carrier"]


def test_shares_of_components_are_of_the_whole_model() -> None:
    rows = component_rows(sample_profile())
    assert rows[0]["label"] == "Σ whole model"
    assert rows[4]["share"] == pytest.approx(0.45)


def test_a_component_that_was_skipped_has_no_figures() -> None:
    skipped = replace(profile_row("head", "Head", 1, 1.0).skipped("no input"), in_situ=None, warm=None)
    row = component_rows((profile_row("", "Model", 0, 1.0), skipped))[1]
    assert (row["provenance"], row["in_situ_ms"], row["share"], row["spread"]) == ("skipped", None, None, None)


def test_errors_stand_below_the_noise_floor() -> None:
    rows = error_rows(sample_validation().summary, sample_validation().points)
    assert [row["kind"] for row in rows][::6] == ["noise floor", "whole models"]
    assert rows[1]["rows"] == 24


def test_whole_models_that_were_not_measured_have_no_row() -> None:
    rows = error_rows({"components": [{"kind": "linear", "mape": 0.1}], "composed": {"mape": None}})
    assert [row["kind"] for row in rows] == ["linear"]


def test_plain_sums_and_measured_components_stand_below_the_whole_models() -> None:
    composed = {"mape": 0.1, "kendall_tau": None}
    summary = {"composed": composed, "composed_sum": composed, "composed_known": composed}
    kinds = [row["kind"] for row in error_rows(summary)]
    assert kinds == ["whole models", "whole models, as plain sums", "whole models, components measured"]


def test_the_coverage_of_whole_models_is_told() -> None:
    summary = {**sample_validation().summary, "whole_model_coverage_90": 0.875}
    prose = " ".join(validation_section(replace(sample_validation(), summary=summary)).prose)
    assert "Of those of whole models, 87.5 % did." in prose


def test_a_validation_without_points_has_no_scatter() -> None:
    section = validation_section(replace(sample_validation(), points=(), summary={}))
    assert not section.charts
    assert len(section.prose) == 1


def test_the_front_is_listed_from_the_best_with_the_chosen_marked() -> None:
    rows = pareto_rows(sample_search())
    assert [row["number"] for row in rows if row["chosen"]] == [10]
    assert [row["auc"] for row in rows] == sorted((row["auc"] for row in rows), reverse=True)


def test_the_line_joins_the_trials_that_none_beats_in_both() -> None:
    rows = front_rows(sample_search())
    front = sorted((row["latency_ms"], row["auc"]) for row in rows if row["on_front"])
    assert front == sorted(front, key=lambda point: point[1])
    assert max(row["auc"] for row in rows) == front[-1][1]
    assert min(row["latency_ms"] for row in rows) == front[0][0]


def test_trials_without_an_outcome_are_on_no_front() -> None:
    failed = {"number": 0, "state": "failed", "representation": "dhe", "auc": None, "latency_ms": 0.1}
    search = replace(sample_search(), trials=(failed, *sample_search().trials))
    assert front_rows(search)[0]["on_front"] is False


def test_further_objectives_have_columns_and_lower_limits_are_called_so() -> None:
    rows = tuple({**row, "capacity_qps": 100.0 + row["number"]} for row in sample_search().trials)
    objectives, limits = ("capacity_qps", "auc"), {"capacity_qps": 20.0, "latency_ms": 2.0}
    section = search_section(replace(sample_search(), trials=rows, objectives=objectives, constraints=limits))
    members = section.tables[0]
    assert "capacity_qps" in {column.key for column in members.filled_columns}
    assert members.rows[0]["capacity_qps"] == max(row["capacity_qps"] for row in members.rows)
    assert "capacity ≥ 20" in section.prose[0]
    assert "latency ≤ 2" in section.prose[0]


def test_a_search_without_trials_has_no_chart() -> None:
    assert not search_section(replace(sample_search(), trials=())).charts


def test_a_latency_that_was_estimated_is_called_so() -> None:
    search = sample_search()
    trials = tuple({**row, "provenance": "estimated"} for row in search.trials)
    section = search_section(replace(search, trials=trials, constraints={}, hypervolume=None))
    assert "Latency is estimated on cpu" in section.prose[0]
    assert "estimated latency on cpu (ms)" in str(section.charts[0].spec)


def test_memory_is_told_as_a_share_of_each_budget() -> None:
    assert [row["share"] for row in memory_rows(sample_plan())] == pytest.approx([0.54, 0.0143, 0.62])


def test_a_device_without_a_budget_has_no_bar() -> None:
    plan = sample_plan()
    boundless = replace(plan, devices=tuple(replace(device, memory_bytes=None) for device in plan.devices))
    assert memory_rows(boundless) == ()
    assert path_rows(boundless)[0]["budget_share"] is None
    assert not mapping_section(boundless.to_object(), None).charts


def test_budgets_that_are_hardly_touched_are_left_to_the_table() -> None:
    plan = sample_plan()
    large = tuple(replace(device, memory_bytes=100_000_000_000) for device in plan.devices)
    section = mapping_section(replace(plan, devices=large).to_object(), None)
    assert not section.charts
    assert "budget_share" in {column.key for column in section.tables[0].filled_columns}


def test_what_the_mapping_found_beside_its_decisions_is_told() -> None:
    beside = {"title": "More memory", "columns": ["device", "gain"], "rows": [["gpu", "+1 %"]], "text_columns": 1}
    mapping = MappingInputs(decisions=(), tables=({**beside, "notes": ["gap 2 %"]},))
    table = mapping_section(sample_plan().to_object(), mapping).tables[-1]
    assert (table.caption, table.note) == ("More memory", "gap 2 %")
    assert [(column.title, column.kind) for column in table.columns] == [("Device", "text"), ("Gain", "words")]
    assert table.rows == ({"column_0": "gpu", "column_1": "+1 %"},)


def test_the_last_class_of_sizes_ends_with_the_workload() -> None:
    plan = replace(sample_plan(), workload=Workload(qps=1000, sla_ms=10, sizes=Sizes(maximum=3000)))
    chart = next(chart for chart in serving_section(plan.to_object(), sample_serving()).charts if chart.half)
    assert max(row["size_to"] for row in chart.rows) == 3000
    text = str(chart.spec)
    assert "'label': '1'" in text
    assert "'label': '2048-3000'" in text


def test_members_of_the_front_are_called_by_their_candidates_name(sections: dict[str, Section]) -> None:
    assert [column.title for column in sections["search"].tables[0].filled_columns][:2] == ["Trial", "Candidate"]


def test_a_path_is_shown_at_the_size_nearest_to_the_mean() -> None:
    row = path_rows(sample_plan())[0]
    assert (row["latency_size"], row["latency_ms"]) == (128, pytest.approx(0.712))


def test_decisions_are_parted_into_chosen_and_passed_over(sections: dict[str, Section]) -> None:
    tables = {table.name: table for table in sections["mapping"].tables}
    assert [row["candidate"] for row in tables["kept"].rows] == ["trial-3", "trial-9", "trial-12"]
    assert len(tables["left_out"].rows) == 2


def test_the_best_policy_comes_first() -> None:
    rows = policy_rows(serving_facts(sample_plan().to_object(), sample_serving()))
    assert [row["best"] for row in rows] == [True, False, False]
    assert rows[-1]["holds"] is False


def test_charts_of_serving_know_what_each_policy_rests_on(sections: dict[str, Section]) -> None:
    latency = next(chart for chart in sections["serving"].charts if chart.name == "latency")
    grades = {row["policy"]: row["provenance"] for row in latency.rows}
    assert grades == {"mp-rec": "estimated", "table on cpu": "predicted", "dhe on cpu": "predicted"}


def test_serving_without_frames_or_capacity_still_has_its_table() -> None:
    serving = ServingInputs(
        simulations=(simulation("a", {"table@cpu": 1.0}, notes=["a remark", "energy: of nothing shown"]),)
    )
    section = serving_section(sample_plan().to_object(), serving)
    assert not section.charts
    assert section.tables[0].rows
    assert section.notes == ("table on cpu: a remark",)


def test_the_capacity_search_may_remark_too() -> None:
    capacity = {"policies": [{"policy": "a", "max_qps": 9.0, "note": "even when idle"}]}
    serving = ServingInputs(simulations=(simulation("a", {"table@cpu": 1.0}),), capacity=capacity)
    section = serving_section(sample_plan().to_object(), serving)
    assert section.notes == ("table on cpu: even when idle",)
    assert section.charts[0].rows[0]["ci_low"] == 9.0


def test_the_study_is_echoed_key_by_key() -> None:
    study = {"name": "q", "devices": [{"name": "cpu"}], "model": {"top_mlp": [64, 1]}, "search": {}}
    assert {row["key"]: row["value"] for row in study_rows(study)} == {
        "name": "q",
        "devices.0.name": "cpu",
        "model.top_mlp": "[64, 1]",
        "search": "{}",
    }


def test_the_machine_and_the_seeds_are_told() -> None:
    table = next(table for table in origin_section(sample_inputs()).tables if table.name == "machine")
    facts = {row["key"]: row["value"] for row in table.rows}
    assert facts["processor"] == "AMD EPYC 7B13"
    assert facts["torch"] == "2.13.0"
    assert facts["seed of training"] == "1"


def charts_of_serving() -> dict[str, Chart]:
    return {chart.name: chart for chart in serving_section(sample_plan().to_object(), sample_serving()).charts}


def test_the_bound_stands_beside_policies_in_the_charts_of_right_predictions_alone() -> None:
    charts = charts_of_serving()
    assert {row["series"] for row in charts["right_over_load"].rows} == {
        "mp-rec", "table on cpu", "dhe on cpu", "fluid bound",
    }  # fmt: skip
    assert "fluid bound" not in {row["policy"] for row in charts["goodput"].rows}
    assert [row["qps"] for row in charts["capacity_accuracy"].rows][:3] == [1830, 1350, 240]


def test_a_policy_without_a_figure_has_no_bar() -> None:
    charts = charts_of_serving()
    assert [row["policy"] for row in charts["cost"].rows] == ["mp-rec", "table on cpu", "dhe on cpu"]
    assert [row["policy"] for row in charts["energy"].rows] == ["mp-rec", "table on cpu"]
    assert "mp-rec" in charts["queue"].note


def test_the_table_tells_the_tables_interval_and_what_is_left_with_one_device_down() -> None:
    spare = {"device": "gpu", "max_qps": 900.0, "ci_low": 880.0, "ci_high": 920.0, "by_device": {"gpu": 900.0}}
    row = {**capacity("a", 1000), "table_low": 800.0, "table_high": 1200.0, "n_plus_one": spare}
    serving = ServingInputs(simulations=(simulation("a", {"table@cpu": 1.0}),), capacity={"policies": [row]})
    shown = policy_rows(serving_facts(sample_plan().to_object(), serving))[0]
    assert (shown["by_tables"], shown["spare"]) == ("800 to 1,200", "900 without gpu")
