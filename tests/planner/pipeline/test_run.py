import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from planner.cli.app import run
from planner.search import load_search
from profiles.store import ProfileStore
from serving_sim.plan import load_plan


def test_the_main_job_leaves_a_report_and_a_plan(planned: Path) -> None:
    plan = load_plan(planned / "plan.json")
    assert {path.device for path in plan.paths} == {"cpu", "gpu"}
    assert {path.provenance for path in plan.paths if path.device == "gpu"} == {"estimated"}
    assert {path.provenance for path in plan.paths if path.device == "cpu"} <= {"measured", "predicted"}
    page = (planned / "report.html").read_text(encoding="utf-8")
    assert "estimated" in page
    assert (planned / "frames").is_dir()
    assert (planned / "charts").is_dir()


def test_every_component_was_measured_once(planned: Path) -> None:
    rows = ProfileStore(planned / "profiles").load()
    assert len({row.content_hash for row in rows}) == len(rows)
    assert {row.kind for row in rows} >= {"linear", "embedding", "dhe_encoder", "interaction", "elementwise", "model"}
    assert {row.provenance for row in rows} == {"measured"}
    assert not list((planned / "profiles").glob("part-*"))


def test_trials_carry_accuracy_from_training_and_costs_from_the_model(planned: Path) -> None:
    trials = pl.read_parquet(planned / "search" / "trials.parquet")
    assert len(trials) == 4
    assert trials["auc"].is_between(0.3, 1.0).all()
    assert trials["train_seconds"].gt(0).all()


@pytest.mark.slow
def test_a_second_run_measures_and_trains_nothing(
    planned: Path, study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {row.content_hash: row.fingerprint.timestamp for row in ProfileStore(planned / "profiles").load()}
    trials = load_search(planned / "search").trials
    assert run(["plan", str(study_file), "--out", str(planned), "--json"]) == 0
    after = {row.content_hash: row.fingerprint.timestamp for row in ProfileStore(planned / "profiles").load()}
    assert after == before
    assert load_search(planned / "search").trials == trials
    summary = json.loads(capsys.readouterr().out)
    assert summary["search"]["trials"] == 4
    assert Path(summary["report"]).is_file()


def test_the_same_measurements_give_the_same_plan(planned: Path, study_file: Path) -> None:
    before = load_plan(planned / "plan.json")
    assert run(["map", str(study_file), "--out", str(planned)]) == 0
    after = load_plan(planned / "plan.json")
    before.save(planned / "plan.json")
    assert replace(after, policy=before.policy) == before


def test_the_report_can_be_rebuilt_from_its_folder(planned: Path) -> None:
    before = (planned / "report.html").read_text(encoding="utf-8")
    (planned / "report.html").unlink()
    assert run(["report", str(planned)]) == 0
    assert (planned / "report.html").read_text(encoding="utf-8") == before


def test_the_plan_carries_the_recommended_policy(planned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads((planned / "report.json").read_text(encoding="utf-8"))
    capsys.readouterr()
    assert run(["simulate", str(planned / "plan.json"), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["policy"] == report["serving"]["path_share_policy"]
    (stored,) = [row for row in report["serving"]["simulations"] if row["policy"] == again["policy"]]
    assert again["latency_ms"] == pytest.approx(stored["latency_ms"])


@pytest.mark.slow
def test_a_study_of_absent_devices_alone_is_estimated_throughout(study_file: Path, tmp_path: Path) -> None:
    text = study_file.read_text(encoding="utf-8")
    cpu = text[text.index("[[devices]]") : text.index("[[devices]]", text.index("[[devices]]") + 1)]
    study = tmp_path / "study.toml"
    study.write_text(text.replace(cpu, "").replace("trials = 4", "trials = 2"), encoding="utf-8")
    assert run(["plan", str(study), "--out", str(tmp_path / "out")]) == 0
    plan = load_plan(tmp_path / "out" / "plan.json")
    assert {path.provenance for path in plan.paths} == {"estimated"}
    assert not ProfileStore(tmp_path / "out" / "profiles").load()
