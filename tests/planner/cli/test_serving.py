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


def test_a_preset_says_what_its_figures_are_and_a_plan_of_ones_own_nothing_more(
    plan_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", "mlperf-dlrm-v3", "--queries", "500"]) == 0
    assert "preset: the SLA is that of dlrm-v3" in capsys.readouterr().out
    assert run(["simulate", plan_file]) == 0
    assert "preset:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--policy", "static", "--set", "policy.options.path=gpu"], "policy.options.path: unknown name 'gpu'"),
        (["--policy", "mp-rec", "--set", "policy.options.path=gpu"], "policy.options of mp-rec: unknown name 'path'"),
        (["--set", "devices.cpu.servers=1000000000000"], "servers: must be <= 100000"),
        (["--qps", "1e-300"], "error: --qps: must be in [1e-06, 1e+09]"),
        (["--policy", "none"], "error: --policy: unknown name 'none'"),
        (["--self-check", "--out", "charts"], "--self-check goes without --out"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_message(
    plan_file: str, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", plan_file, *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_the_summary_has_intervals_by_queries_and_by_tables(capsys: pytest.CaptureFixture[str]) -> None:
    plan = ("simulate", "mp-rec-hw1", "--queries", "3000")
    bars = json_of(capsys, *plan)["error_bars"]["p50"]
    assert bars["table_low"] < bars["ci_low"] < bars["ci_high"] < bars["table_high"]
    assert run([*plan]) == 0
    assert "by the tables" in capsys.readouterr().out
    assert run([*plan, "--no-table-errors"]) == 0
    shown = capsys.readouterr().out
    assert "by the queries drawn" in shown
    assert "by the tables" not in shown


def test_the_summary_says_whether_the_sla_holds(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", plan_file, "--sla-ms", "0.1"]) == 0
    assert "holds the SLA: no, 100 % late, 1 % allowed (495 queries counted)" in capsys.readouterr().out


def test_a_self_check_needs_no_plan_and_says_what_is_right(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["simulate", "--self-check", "--queries", "20000"]) == 0
    shown = capsys.readouterr().out
    assert "18 of 18 right" in shown
    assert max(map(len, shown.splitlines())) <= 80
    body = json_of(capsys, "simulate", "--self-check", "--queries", "20000")
    assert body["failed"] == 0
    assert set(body["checks"][0]) >= {"expected", "simulated", "difference", "standard_error", "allowed", "passed"}


def test_a_self_check_with_a_plan_holds_its_run_to_its_laws(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    body = json_of(capsys, "simulate", plan_file, "--self-check", "--queries", "20000")
    assert "small, gpu" in {check["subject"] for check in body["checks"]}


def test_a_self_check_without_a_plan_takes_no_load(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--self-check", "--qps", "5", "--set", "seed=1"]) == 2
    assert "--self-check without a PLAN goes without --qps, --set" in capsys.readouterr().err


def test_a_rate_to_hold_is_named_by_its_option(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capacity", plan_file, "--for-qps=-5"]) == 2
    assert capsys.readouterr().err == "error: --for-qps: must be finite and > 0, but got -5.0\n"


def test_a_capacity_takes_no_rate(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capacity", plan_file, "--qps", "500"]) == 2
    assert "every rate is tried, whatever the plan's; --for-qps finds what devices" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_told_of_at_once(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", plan_file, "--out", "/dev/null/x"]) == 1
    assert capsys.readouterr().err == "error: --out: /dev/null/x: cannot make the folder: Not a directory\n"


def test_simulate_without_a_plan_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate"]) == 2
    assert "name a PLAN" in capsys.readouterr().err


def test_a_folder_of_charts_is_written(plan_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", plan_file, "--out", str(tmp_path / "out")]) == 0
    assert "charts.html" in capsys.readouterr().err
    assert (tmp_path / "out" / "queue.csv").is_file()


def test_capacity_tells_spare_and_sample(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    short = ("--policy", "table-switch", "--queries", "1000", "--seeds", "2", "--n-plus-one")
    assert run(["capacity", plan_file, *short]) == 0
    shown = capsys.readouterr().out
    assert "one device down" in shown
    assert "2 seeds of 1,000 queries; known to" in shown
    found = json_of(capsys, "capacity", plan_file, *short)["policies"][0]
    assert set(found["n_plus_one"]["by_device"]) == {"cpu", "gpu"}


def test_capacity_leaves_out_what_cannot_serve_the_plan(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    sharded = json.loads(Path(plan_file).read_text(encoding="utf-8"))
    look_up = {"sizes": [1, 100], "mean_ms": [0.1, 0.2]}
    sharded["paths"][0]["shards"] = [{"device": "gpu", "latency": look_up}]
    sharded["policy"] = {"name": "split"}
    Path(plan_file).write_text(json.dumps(sharded), encoding="utf-8")
    assert run(["capacity", plan_file, "--queries", "500", "--seeds", "2"]) == 0
    assert "note: split is left out: policy: one that splits queries takes no path" in capsys.readouterr().out


def test_early_stopping_runs_mlperf_s_count_of_queries(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    body = json_of(
        capsys, "capacity", plan_file, "--policy", "static", "--early-stopping", "--seeds", "2",
        "--set", "workload.percentile=90",
    )  # fmt: skip
    assert body["queries"] == 24_576


def test_devices_for_a_rate_are_told_with_their_cost(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ("--for-qps", "2000", "--policy", "table-switch", "--most", "3", "--queries", "1000", "--seeds", "2")
    prices = ("--set", "devices.cpu.price_per_hour=1", "--set", "devices.gpu.price_per_hour=1")
    assert run(["capacity", plan_file, *wanted, *prices]) == 0
    assert "Cheapest replicas for 2,000 queries/s" in capsys.readouterr().out
    found = json_of(capsys, "capacity", plan_file, *wanted, *prices)["policies"][0]
    assert found["cost_per_hour"] == sum(found["replicas"].values())


@pytest.mark.parametrize("option", [("--precision", "0.01"), ("--early-stopping",)])
def test_devices_for_a_rate_go_with_no_search_for_the_rate(plan_file: str, option: tuple[str, ...]) -> None:
    assert run(["capacity", plan_file, "--for-qps", "10", *option]) == 2


def test_the_slas_of_classes_are_shown_in_place_of_the_plan_s(
    plan_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    classes = 'workload.classes=[{"name":"web","share":0.5,"sla_ms":7},{"name":"mail","share":0.5,"sla_ms":90}]'
    assert run(["simulate", plan_file, "--set", classes]) == 0
    assert "SLA web 7 ms, mail 90 ms: stable" in capsys.readouterr().out
    wanted = ("--for-qps", "200", "--policy", "table-switch", "--most", "1", "--queries", "500", "--seeds", "2")
    assert run(["capacity", plan_file, *wanted, "--set", classes]) == 0
    assert "within web 7 ms, mail 90 ms" in capsys.readouterr().out
    assert json_of(capsys, "capacity", plan_file, *wanted, "--set", classes)["slas_by_class"] == {"web": 7, "mail": 90}


def test_a_run_that_serves_nothing_shows_and_draws_no_latency(
    plan_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = ("simulate", plan_file, "--policy", "headroom", "--sla-ms", "0.01", "--queries", "200")
    assert run([*nothing, "--out", str(tmp_path / "charts")]) == 0
    assert "p50 -  p95 -  p99 -  p999 -" in capsys.readouterr().out
    assert run([*nothing, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["latency_ms"]["p50"] is None
