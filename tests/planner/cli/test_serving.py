import json
from pathlib import Path
from typing import Any

import pytest

from planner.cli.app import run
from serving_sim.testing import small_plan


@pytest.fixture
def plan_file(tmp_path: Path) -> str:
    file = tmp_path / "plan.json"
    small_plan(queries=500).save(file)
    return str(file)


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_a_policy_named_on_the_command_line_takes_the_options_set_there(
    plan_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ("--policy", "static", "--set", "policy.options.path=hybrid-gpu")
    body = json_of(capsys, "simulate", plan_file, *chosen)
    assert {path["name"]: path["share"] for path in body["paths"]}["hybrid-gpu"] == 1.0
    found = json_of(capsys, "capacity", plan_file, *chosen, "--queries", "200", "--seeds", "2")["policies"]
    assert [policy["policy"] for policy in found] == ["static (path=hybrid-gpu)"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--policy", "static", "--set", "policy.options.path=gpu"], "policy.options.path: unknown name 'gpu'"),
        (["--policy", "mp-rec", "--set", "policy.options.path=gpu"], "policy.options of mp-rec: unknown name 'path'"),
        (["--set", "devices.cpu.servers=1000000000000"], "servers: must be <= 100000"),
        (["--qps", "1e-300"], "qps: must be in [1e-06, 1e+09]"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_message(
    plan_file: str, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", plan_file, *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_the_summary_says_whether_the_sla_holds(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", plan_file, "--sla-ms", "0.1"]) == 0
    assert "holds the SLA: no, 100 % late, 1 % allowed (495 queries counted)" in capsys.readouterr().out
