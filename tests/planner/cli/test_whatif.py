import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from planner.cli.app import run
from serving_sim.testing import small_plan


@pytest.fixture
def plan(tmp_path: Path) -> str:
    file = tmp_path / "plan.json"
    small_plan(queries=500).save(file)
    return str(file)


def test_a_table_shows_the_best_first_beside_the_plan_as_it_is(plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["whatif", plan, "--vary", "qps=200,4000", "--vary", "add=,gpu"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("4 what-ifs, the best first, below the plan as it is")
    assert printed.splitlines()[3].startswith(" plan ")
    assert "of 4 hold their SLA" in printed
    assert printed.index(" 4000") != printed.index(" 200")


def test_a_table_of_three_keys_fits_a_usual_terminal_with_its_headings_whole(
    plan: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    keys = ("--vary", "qps=200,4000", "--vary", "add=,gpu", "--vary", "workload.sizes.mean=64,128")
    assert run(["whatif", plan, *keys]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert {"workload.", "sizes.", "mean", "near-saturation"} <= set(printed.split())
    monkeypatch.setenv("COLUMNS", "50")
    assert run(["whatif", plan, *keys]) == 0
    assert set(printed.split()) <= set(capsys.readouterr().out.split())


def test_so_few_queries_that_they_tell_nothing_are_not_said_to_hold_the_sla(
    plan: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["whatif", plan, "--vary", "qps=200,100000", "--queries", "50"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 of 2 hold their SLA; 1 with too few queries to tell"


def test_the_object_has_every_combination(plan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text("[vary]\nqps = [200, 400]\nsla_ms = [5, 10]\n", encoding="utf-8")
    assert run(["whatif", plan, str(grid), "--json", "--policy", "table-switch"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["vary"] == {"qps": [200, 400], "sla_ms": [5, 10]}
    assert [cell["values"] for cell in body["cells"]][1] == {"qps": 200, "sla_ms": 10}
    assert body["as_it_is"]["qps"] == 400


def test_what_if_nothing_is_served_there_is_no_latency(
    plan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = ("whatif", plan, "--vary", "sla_ms=0.01,10", "--policy", "headroom", "--queries", "200")
    assert run([*nothing, "--json", "--out", str(tmp_path / "out")]) == 0
    first, second = json.loads(capsys.readouterr().out)["cells"]
    assert first["latency_ms"]["p99"] is None
    assert second["latency_ms"]["p99"] > 0
    frame = pl.read_parquet(tmp_path / "out" / "whatif.parquet")
    assert frame["p99_over_sla"].is_null().to_list() == [True, False]
    assert run([*nothing]) == 0


def test_a_folder_receives_tables_and_a_page(plan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "found"
    assert run(["whatif", plan, "--vary", "qps=200,400", "--out", str(out)]) == 0
    capsys.readouterr()
    assert sorted(file.name for file in out.iterdir()) == ["whatif.csv", "whatif.html", "whatif.parquet"]
    assert pl.read_parquet(out / "whatif.parquet")["qps"].to_list() == [200, 400]


def test_intervals_are_asked_for(plan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("whatif", plan, "--vary", "qps=200,400", "--queries", "3000", "--intervals", "--out", str(tmp_path))
    assert run([*asked]) == 0
    assert "below a figure: its 95 % interval" in capsys.readouterr().out
    assert run([*asked, "--json"]) == 0
    cell = json.loads(capsys.readouterr().out)["cells"][0]
    frame = pl.read_parquet(tmp_path / "whatif.parquet")
    assert frame["p50_ms_ci_low"][0] == cell["error_bars"]["p50"]["ci_low"] < cell["latency_ms"]["p50"]
    assert frame["p50_ms_table_low"][0] is None
    assert "p99_ms_ci_low" in (tmp_path / "whatif.html").read_text(encoding="utf-8")


def test_nothing_that_varies_is_bad_input(plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["whatif", plan]) == 2
    assert "name what varies" in capsys.readouterr().err


def test_complaints_name_the_option_or_the_file(plan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text("[vary]\nsla_ms = [5, -1]\n", encoding="utf-8")
    for arguments, complaint in (
        (["--vary", "fail=tpu"], "error: --vary fail=tpu: unknown name 'tpu' "),
        (["--vary", "qps=1,1"], "error: --vary qps: values must differ"),
        (["--vary", "qps=9", "--vary", "nothing=1"], "error: --vary nothing: unknown name 'nothing'"),
        ([str(grid)], f"error: {grid}: vary sla_ms=-1: must be finite and > 0"),
    ):
        assert run(["whatif", plan, *arguments]) == 2
        assert complaint in capsys.readouterr().err


def test_a_simulation_loads_only_what_it_needs(plan: str) -> None:
    script = f"import sys; from planner.cli.app import run; run(['simulate', {plan!r}]); print('loaded', *sys.modules)"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    loaded = printed.partition("loaded")[2].split()
    assert not {"torch", "scipy", "sklearn", "ray", "torchrec", "polars", "altair"} & set(loaded)
