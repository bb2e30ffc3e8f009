import json
from dataclasses import replace
from pathlib import Path

import pytest

from planner.cli.app import run
from planner.report import ReportInputs, save_inputs
from planner.report.differences import diff_reports, report_difference_lines
from profiles.errors import InputError
from profiles.results import save_profile
from tests.planner.report.sample import sample_inputs
from tests.profiles.analyses.test_diff import SIX, profile


def changed_inputs() -> ReportInputs:
    """One candidate twice as fast, one module of the profile larger, better answers."""
    inputs = sample_inputs()
    search, serving, rows = inputs.search, inputs.serving, inputs.profile
    assert search
    assert serving
    assert rows
    first, *others = search.trials
    best, *rest = serving.simulations
    return replace(
        inputs,
        search=replace(search, trials=({**first, "latency_ms": first["latency_ms"] / 2}, *others)),
        serving=replace(serving, simulations=({**best, "accuracy": 0.9}, *rest)),
        profile=(*rows[:-1], replace(rows[-1], parameter_bytes=(rows[-1].parameter_bytes or 0) + 4096)),
    )


def test_two_equal_reports_do_not_differ() -> None:
    found = diff_reports(sample_inputs(), sample_inputs())
    assert (found.headline, found.candidates, found.notes) == ((), (), ())
    assert "headline: no change" in report_difference_lines(found)


def test_what_differs_is_named_by_figure_candidate_and_module() -> None:
    found = diff_reports(sample_inputs(), changed_inputs())
    assert [one.name for one in found.headline] == ["accuracy"]
    ((subject, change),) = [(one.subject, one.change) for one in found.candidates]
    assert subject == "trial-0"
    assert change
    assert change < 0
    assert found.components
    parts = {one.part.path: one.part.change for one in found.components.metric("parameter_bytes").named}
    assert parts[(changed_inputs().profile or ())[-1].path] == 4096
    lines = report_difference_lines(found)
    assert any(line.startswith("  trial-0: latency_ms ") and "(-50.0 %)" in line for line in lines)


def test_reports_with_nothing_in_common_are_refused() -> None:
    bare = replace(sample_inputs(), search=None, serving=None, profile=None)
    with pytest.raises(InputError, match="cannot be compared: they share no candidate"):
        diff_reports(bare, sample_inputs())


def test_what_only_one_report_has_is_told() -> None:
    inputs = sample_inputs()
    found = diff_reports(inputs, replace(inputs, serving=None, study={"seed": 1}))
    assert "serving: only in the report before" in found.notes
    assert any(note.startswith("the studies differ in ") for note in found.notes)


def test_folders_of_reports_are_compared_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_inputs(sample_inputs(), tmp_path / "a")
    save_inputs(changed_inputs(), tmp_path / "b")
    a, b = str(tmp_path / "a"), str(tmp_path / "b" / "report.json")
    assert run(["diff", a, b]) == 0
    assert capsys.readouterr().out.startswith(f"{a} → {b}\n")
    assert run(["diff", a, b, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["headline"][0]["name"] == "accuracy"


def test_a_report_is_not_compared_with_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_inputs(sample_inputs(), tmp_path / "a")
    save_profile(profile(SIX), tmp_path / "b")
    assert run(["diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "give two profiles, or two reports" in capsys.readouterr().err
    assert run(["diff", str(tmp_path / "a"), str(tmp_path / "a"), "--out", str(tmp_path)]) == 2
