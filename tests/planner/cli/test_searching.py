import json
import shutil
from pathlib import Path

import pytest

from planner.cli.app import run
from planner.search import load_search
from representations.model_file import load_model


def test_a_member_of_the_front_is_rebuilt_with_its_very_scores_and_its_plan(
    planned: Path, study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(planned, out)
    trial = load_search(out / "search").pareto[0]
    assert run(["search", str(study_file), "--out", str(out), "--build", str(trial.number), "--json"]) == 0
    built = json.loads(capsys.readouterr().out)
    assert built["metrics"]["auc"] == pytest.approx(trial.auc, abs=1e-9)
    assert load_model(Path(built["model"])).spec == trial.model
    assert json.loads(Path(built["spec"]).read_text())["name"] == trial.model.name
    assert Path(built["plan"]).is_file()


def test_a_trial_that_is_not_there_cannot_be_rebuilt(
    planned: Path, study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", str(study_file), "--out", str(planned), "--build", "999"]) == 2
    assert "no such trial; those on the front are" in capsys.readouterr().err


def test_the_front_is_shown_with_reasons_and_the_command_that_rebuilds_it(
    planned: Path, study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", str(study_file), "--out", str(planned)]) == 0
    shown = capsys.readouterr().out
    assert "why it is here" in shown
    assert f"recplan search {study_file} --out {planned} --build" in shown.replace("\n", "")


@pytest.mark.slow
def test_a_search_in_a_database_is_mapped_and_begun_with(
    planned: Path, study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, url = tmp_path / "out", f"sqlite:///{tmp_path / 'trials.db'}"
    shutil.copytree(planned / "profiles", out / "profiles")
    searched = ["search", str(study_file), "--out", str(out), "--storage", url, "--trials", "4"]
    assert run([*searched, "--warm-start", str(planned), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["screened"]["priced"] >= 4
    assert Path(found["page"]).is_file()
    assert run(["map", str(study_file), "--out", str(out)]) == 2
    assert "name the storage" in capsys.readouterr().err
    assert run(["map", str(study_file), "--out", str(out), "--storage", url]) == 0
    assert (out / "plan.json").is_file()
