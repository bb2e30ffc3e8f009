import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from planner.cli.app import BAD_INPUT, DONE, run
from serving_sim.plan import PolicyChoice
from tests.serving_sim.replay.plans import real_plan


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    file = tmp_path / "plan.json"
    real_plan().save(file)
    return file


def test_json_holds_measured_beside_simulated(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(plan_file), "--seconds", "1", "--qps", "250", "--json"]) == DONE
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["runs"][0]["qps"] == 250
    assert found["capacity_qps"] is None
    assert found["measured"].keys() == found["error"].keys()
    assert "table@gpu is not served" in err


@pytest.mark.slow
def test_tables_show_error_beside_the_run_s_own_spread(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["replay", str(plan_file), "--seconds", "1", "--set", "workload.sizes.maximum=32", "--seed", "3"]
    assert run(arguments) == DONE
    out = capsys.readouterr().out
    assert "the run's own spread" in out
    assert "simulated, its own service times" in out
    assert "note: table@gpu is not served" in out


@pytest.mark.slow
def test_what_was_refused_stands_below_the_paths(plan_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    classes = '[{"name": "hopeless", "share": 0.5, "sla_ms": 1e-6}, {"name": "patient", "share": 0.5, "sla_ms": 1e4}]'
    arguments = ["--policy", "headroom", "--seconds", "1", "--set", f"workload.classes={classes}"]
    assert run(["replay", str(plan_file), *arguments]) == DONE
    printed = capsys.readouterr().out
    assert printed.startswith("200 queries/s, SLA 1e-06, 10000 ms: 200 queries")
    rows = [line.split() for line in printed.splitlines()]
    (place,) = [place for place, row in enumerate(rows) if row[:1] == ["refused"]]
    live, simulated = (float(row[-1].rstrip("%")) for row in rows[place : place + 2])
    assert 30 < live < 70
    assert simulated == pytest.approx(live, abs=5)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--load", "a,b"], "must be numbers apart by commas"),
        (["--load", "0.3", "--qps", "100"], "give one of them"),
        (["--load=-1"], "load: must be finite and > 0"),
        (["--seconds", "0"], "seconds: must be finite and > 0"),
        (["--model", "table@cpu"], "must be PATH=FILE"),
        (["--model", "none=file"], "unknown name 'none'"),
        (["--policy", "split"], "split is simulated only"),
    ],
)
def test_bad_options_are_refused_with_what_was_got(
    plan_file: Path, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", str(plan_file), *arguments]) == BAD_INPUT
    assert complaint in capsys.readouterr().err


def test_a_plan_with_nothing_to_serve_here_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = real_plan()
    away = replace(plan, paths=plan.paths[2:], devices=plan.devices[1:], policy=PolicyChoice())
    away.save(tmp_path / "away.json")
    assert run(["replay", str(tmp_path / "away.json")]) == BAD_INPUT
    assert "none can be served on this machine" in capsys.readouterr().err


@pytest.mark.skipif(importlib.util.find_spec("starlette") is not None, reason="Ray Serve is installed")
def test_without_ray_serve_the_message_says_what_to_install(
    plan_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", str(plan_file), "--serve"]) == BAD_INPUT
    assert "pip install 'recplan[serve]'" in capsys.readouterr().err
