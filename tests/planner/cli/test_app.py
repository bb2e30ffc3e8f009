import errno
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from planner.cli.app import run

ROOT = Path(__file__).parents[3]


def edited(study_file: Path, tmp_path: Path, old: str, new: str) -> str:
    text = study_file.read_text(encoding="utf-8")
    assert old in text
    changed = tmp_path / "study.toml"
    changed.write_text(text.replace(old, new), encoding="utf-8")
    return str(changed)


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_simulate_gives_the_promised_keys(planned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = json_of(capsys, "simulate", str(planned / "plan.json"), "--queries", "20000", "--seed", "7")
    promised = (
        "queries qps sla_ms verdict fluid_bound_share latency_ms sla_violation_share correct_predictions_per_s "
        "correct_predictions_in_sla_per_s accuracy paths devices energy_j_per_query simulated_queries_per_s"
    )
    assert set(promised.split()) <= set(body)
    assert set(body["latency_ms"]) == {"p50", "p95", "p99", "p999"}
    assert body["queries"] == 20000
    assert 0 < body["fluid_bound_share"] <= 1


def test_capacity_gives_the_promised_keys(planned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = str(planned / "plan.json")
    body = json_of(capsys, "capacity", plan, "--queries", "5000", "--policy", "static", "--policy", "mp-rec")
    assert {"sla_ms", "percentile", "policies", "upper_bound_qps"} <= set(body)
    keys = {"policy", "max_qps", "ci_low", "ci_high", "accuracy", "correct_predictions_per_s"}
    assert all(keys <= set(policy) for policy in body["policies"])


def test_edits_change_the_plan_for_this_run_only(planned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned / "plan.json"
    before = plan.read_bytes()
    body = json_of(capsys, "simulate", str(plan), "--set", "workload.qps=77", "--set", "devices.cpu.servers=3")
    assert body["qps"] == 77
    assert plan.read_bytes() == before


def test_the_steps_can_be_run_one_by_one(planned: Path, study_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = (str(study_file), "--out", str(planned))
    swept = json_of(capsys, "sweep", *where)["devices"]["local-cpu"]
    assert (swept["measured"], swept["skipped"]) == (0, [])
    assert swept["reused"] > 20
    found = json_of(capsys, "search", *where)
    assert {"trials", "feasible", "pareto", "hypervolume"} <= set(found)
    mapped = json_of(capsys, "map", *where)
    assert {decision["device"] for decision in mapped["decisions"]} == {"cpu", "gpu"}


def test_validate_sets_errors_beside_the_noise_floor(
    planned: Path, study_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = json_of(capsys, "validate", str(study_file), "--out", str(planned))
    assert {"median", "p90"} <= set(body["noise_floor"])
    assert {"mape", "p90", "within_10", "kendall_tau"} <= set(body["composed"])
    assert {"linear", "embedding"} <= {row["kind"] for row in body["components"]}
    assert {row["representation"] for row in body["in_situ"]} == {"table", "dhe"}
    assert all(row["gross_error"] >= abs(row["error"]) - 1e-9 for row in body["in_situ"])
    assert body["page"] == str(planned / "validation" / "validation.html")
    assert (planned / "validation" / "frames" / "learning_curve.parquet").is_file()


@pytest.mark.parametrize("command", ["simulate", "capacity"])
def test_people_get_tables(planned: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, str(planned / "plan.json"), "--queries", "2000"]) == 0
    assert "mp-rec" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["sweep", "search", "map"])
def test_people_get_tables_of_the_steps(
    planned: Path, study_file: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, str(study_file), "--out", str(planned)]) == 0
    assert capsys.readouterr().out


def test_profile_gives_the_promised_keys_and_true_bytes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    body = json_of(capsys, "profile", "dlrm-kaggle", "--depth", "1", "--budget", "0", "--out", str(tmp_path))
    promised = "modules called measured aggregated skipped latency_ms flops parameter_bytes profile_seconds"
    assert set(promised.split()) <= set(body)
    assert body["parameter_bytes"] > 2_160_804_928 > body["profiled_parameter_bytes"]
    assert (tmp_path / "profile.html").is_file()
    assert (tmp_path / "profile.parquet").is_file()


def test_profile_takes_a_function_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(
        "import torch\ndef model():\n    return torch.nn.Sequential(torch.nn.Linear(4, 2)), (torch.ones(3, 4),)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["profile", "mine:model"]) == 0
    assert "Linear" in capsys.readouterr().out


def test_hardware_lists_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = {row["name"] for row in json_of(capsys, "hardware")["devices"]}
    assert {"local-cpu", "v100", "ipu-pod16"} <= kinds
    assert run(["hardware"]) == 0


BAD_COMMANDS = [
    (["simulate", "none.json"], "none.json: no such file"),
    (["simulate", "{plan}", "--qps", "-5"], "qps: must be finite and > 0, but got -5"),
    (["simulate", "{plan}", "--sla-ms", "0"], "--sla-ms: must be finite and > 0, but got 0"),
    (["simulate", "{plan}", "--policy", "fastest"], "unknown name 'fastest'; known: accuracy-floor, "),
    (["simulate", "{plan}", "--set", "workload.qqs=1"], "unknown name 'qqs' (did you mean 'qps'?)"),
    (["simulate", "{plan}", "--set", "workload.qps"], "must be KEY=VALUE"),
    (["simulate", "{plan}", "--queries", "many"], "--queries"),
    (["capacity", "{plan}", "--policy", "x"], "unknown name 'x'"),
    (["plan", "none.toml"], "none.toml: no such file"),
    (["profile", "nanogtp"], "unknown name 'nanogtp'"),
    (["profile", "no_such_module:f"], "cannot import 'no_such_module'"),
    (["report", "no-such-folder"], "no-such-folder"),
    (["fly"], "No such command 'fly'"),
]


@pytest.mark.parametrize(("arguments", "complaint"), BAD_COMMANDS)
def test_bad_input_is_one_message_and_exit_code_two(
    planned: Path, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run([word.replace("{plan}", str(planned / "plan.json")) for word in arguments]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert "Traceback" not in said


BAD_STUDIES = [
    ('features = ["carrier", "dest", "hour"]', 'features = ["carrier", "colour"]', "colour"),
    ("qps = 300", "qps = -3", "workload.qps: must be finite and > 0, but got -3"),
    ("sla_ms = 20", "sla_ms = 0", "workload.sla_ms: must be finite and > 0, but got 0"),
    ("qps = 300", "qps = 300\ncolour = 3", "workload.colour: unknown key"),
    ('kind = "v100"', 'kind = "v1000"', "did you mean 'v100'?"),
    ('source = "flights"', 'source = "flight"', "did you mean 'flights'?"),
    ('source = "flights"', 'source = "criteo-kaggle"\npath = "no.tsv"', "unknown name 'carrier'"),
    ('arrivals = "azure-conversation"', 'arrivals = "azure"', "azure-conversation"),
    ('"dest", "hour"]', '{ name = "dest", cardinality = 2 }]', "model.features.dest.cardinality: must be >= "),
]


@pytest.mark.parametrize(("old", "new", "complaint"), BAD_STUDIES)
def test_a_bad_study_is_one_message_and_exit_code_two(
    planned: Path,
    study_file: Path,
    tmp_path: Path,
    old: str,
    new: str,
    complaint: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A copy of finished measurements, so that only the question is bad.
    out = tmp_path / "out"
    (out / "profiles").mkdir(parents=True)
    (out / "profiles" / "profiles.parquet").write_bytes((planned / "profiles" / "profiles.parquet").read_bytes())
    assert run(["plan", edited(study_file, tmp_path, old, new), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('source = "flights"', 'source = "flight"', "study.toml: data.source: unknown name 'flight'"),
        ('["carrier", "dest", "hour"]', '["colour"]', "study.toml: model.features: unknown name 'colour'"),
        ("lognormal_mean = 64", "lognormal_mean = 5000", "study.toml: workload.sizes.lognormal_mean: must be in"),
        (
            'arrivals = "azure-conversation"',
            'arrivals = "azure"',
            "study.toml: workload.arrivals: unknown name 'azure'",
        ),
    ],
)
def test_names_are_looked_up_before_a_folder_is_made(
    study_file: Path, tmp_path: Path, old: str, new: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", edited(study_file, tmp_path, old, new), "--out", str(tmp_path / "out")]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_limit_that_nothing_holds_is_told_with_the_least_of_all(
    planned: Path, study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    copytree(planned / "profiles", out / "profiles")
    tight = edited(study_file, tmp_path, 'parameter_bytes = "1 MB"', "parameter_bytes = 10")
    assert run(["search", tight, "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "search.constraints: " in said
    assert "none has parameter_bytes <= 10; nearest is table-d2" in said


def test_a_budget_nothing_fits_names_the_device_and_the_smallest_candidate(
    planned: Path, study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tight = edited(study_file, tmp_path, 'memory = "1 GB"', 'memory = "100 B"')
    tight_file = Path(tight)
    tight_file.write_text(tight_file.read_text().replace('memory = "100 MB"', 'memory = "200 B"'))
    assert run(["map", tight, "--out", str(planned)]) == 2
    assert "no candidate fits any device (cpu 100 bytes, gpu 200 bytes)" in capsys.readouterr().err


def test_a_changed_space_is_refused_with_the_difference(
    planned: Path, study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = edited(study_file, tmp_path, "dhe_k = [8]", "dhe_k = [8, 16]")
    assert run(["search", changed, "--out", str(planned)]) == 2
    assert "dhe_k" in capsys.readouterr().err


def test_searching_before_sweeping_says_so(
    study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", str(study_file), "--out", str(tmp_path)]) == 2
    assert "sweep first" in capsys.readouterr().err


def test_a_truncated_store_names_the_file(
    planned: Path, study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (planned / "profiles" / "profiles.parquet").read_bytes()
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "profiles.parquet").write_bytes(whole[: len(whole) // 2])
    assert run(["sweep", str(study_file), "--out", str(tmp_path)]) == 2
    assert "profiles.parquet" in capsys.readouterr().err


def test_an_out_that_is_a_file_is_refused(study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("")
    assert run(["sweep", str(study_file), "--out", str(tmp_path / "out")]) == 2
    assert f"--out: {tmp_path / 'out'}: must be a folder" in capsys.readouterr().err


def test_an_out_that_cannot_be_made_is_a_failure(study_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", str(study_file), "--out", "/dev/null/x"]) == 1
    said = "error: --out: /dev/null/x/profiles: cannot make the folder: Not a directory\n"
    assert capsys.readouterr().err.endswith(said)


@pytest.mark.parametrize("command", ["validate", "map"])
def test_what_goes_on_from_nothing_leaves_nothing(
    command: str, study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, str(study_file), "--out", str(tmp_path / "out")]) == 2
    assert "sweep first" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_a_failure_that_keeps_what_was_finished(
    planned: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (planned / "report.html").read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert run(["report", str(planned)]) == 1
    assert "No space left on device; what was finished is kept" in capsys.readouterr().err
    assert (planned / "report.html").read_bytes() == page


def test_more_local_servers_than_cores_is_a_warning(
    study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crowded = edited(study_file, tmp_path, 'memory = "1 GB"', "servers = 9999")
    assert run(["map", crowded, "--out", str(tmp_path / "out")]) == 2
    assert "warning: devices: the local ones have 9999 servers in all" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"recplan {version('recplan')}\n"


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "Usage" in "".join(capsys.readouterr())


def test_an_interrupt_says_that_finished_work_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import profiles.hardware

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(profiles.hardware, "catalogue", interrupted)
    assert run(["hardware"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_simulating_loads_no_heavy_library(planned: Path) -> None:
    script = (
        "import sys; from planner.cli.app import run; "
        f"code = run(['simulate', {str(planned / 'plan.json')!r}, '--queries', '1000', '--json']); "
        "heavy = ('torch', 'ray', 'altair', 'optuna', 'sklearn', 'scipy', 'torchrec'); "
        "print(code, [name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stderr.strip() == "0 []"
