import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli.app import run
from profiles.results import load_profile

MODELS = """
import torch

def small():
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), (torch.ones(2, 4),)

def raising():
    raise FileNotFoundError("weights.bin")

class Raises(torch.nn.Module):
    def forward(self, x):
        raise ValueError("inside")

class Parent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.a_rather_long_name_for_a_second_child = torch.nn.Linear(4, 2), Raises()

    def forward(self, x):
        return self.a_rather_long_name_for_a_second_child(self.first(x))

def whole():
    return Raises(), (torch.ones(2, 4),)

def part():
    return Parent(), (torch.ones(2, 4),)
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "raising_models.py").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return "raising_models"


def test_a_model_that_cannot_run_is_a_failure_with_its_reason(models: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", f"{models}:whole"]) == 1
    assert (
        capsys.readouterr().err.splitlines()[-1] == f"error: target '{models}:whole': forward raised ValueError: inside"
    )


def test_a_model_that_runs_in_part_keeps_names_whole_and_reasons_below(
    models: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", f"{models}:part"]) == 0
    said = capsys.readouterr()
    table, _, notes = said.out.partition("[1] ")
    assert "a_rather_long_name_for_a_second_child" in table
    assert "inside" not in table
    assert "skipped: ValueError: inside" in notes
    assert "warning" in said.err


def test_the_cut_of_large_tables_is_told_beside_the_true_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", "dlrm-kaggle", "--depth", "0"]) == 0
    said = capsys.readouterr().out
    assert "parameters: 2.16 GB in the model" in said
    assert "tables cut to 1,448,640 rows to fit" in said


def test_json_says_which_latency_it_gives(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", "dlrm-flights", "--depth", "0", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["latency_kind"], body["notes"]) == ("alone", [])
    assert body["parameter_bytes"] == body["profiled_parameter_bytes"]


def test_an_unknown_name_is_refused_before_torch_is_loaded() -> None:
    script = (
        "import sys; from planner.cli.app import run; "
        "print(run(['profile', 'nope']), 'torch' in sys.modules, run(['profile', 'a:']), file=sys.stdout)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2 False 2"


def test_json_has_the_keys_that_scripts_rely_on(models: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", f"{models}:small", "--budget", "0", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert list(body)[:10] == [
        "modules", "called", "measured", "aggregated", "skipped", "left_out", "latency_ms", "flops", "parameter_bytes",
        "profile_seconds",
    ]  # fmt: skip
    assert (body["modules"], body["measured"], body["flops"]) == (3, 3, 64)


def test_a_profile_is_written_in_the_forms_asked_for(
    models: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["profile", f"{models}:small", "--budget", "0", "--out", str(out), "--format", "json", "--format", "csv"]
    assert run(command) == 0
    assert {row.path for row in load_profile(out).rows} == {"", "(self)", "0", "1"}
    assert {file.name for file in out.iterdir()} == {"profile.json", "profile.csv"}
    assert f"wrote {out / 'profile.json'}" in capsys.readouterr().out


def test_only_what_is_asked_for_is_run_alone(models: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--include", "0", "--no-cold", "--backward", "--profiler", "sizes", "--budget", "0"]
    assert run(["profile", f"{models}:small", *options, "--out", str(out), "--format", "json"]) == 0
    rows = {(row.path, row.phase): row for row in load_profile(out).rows}
    assert rows["0", "forward"].warm
    assert rows["0", "backward"].warm
    assert not rows["1", "forward"].warm
    assert not rows["0", "forward"].cold


def test_known_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", "--list"]) == 0
    assert "targets of representations: deepfm, " in capsys.readouterr().out
    assert run(["profile", "--list", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert "nanogpt" in body["targets"]["profiles"]
    assert {"csv", "json", "parquet"} <= set(body["result_writers"])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "name a target, or ask for --list"),
        (["small", "--format", "json"], "--format needs a folder to write to"),
        (["small", "--out", "out", "--format", "xml"], "result writer: unknown name 'xml'.*known: .*json"),
        (["small", "--with", "magic"], "preprocessor: unknown name 'magic'.*known: "),
        (["small", "--profiler", "magic"], "profiler: unknown name 'magic'.*known: .*memory"),
        (["small", "--profiler", "sizes", "--profiler", "sizes"], "profiler: 'sizes' is asked for twice"),
        (["small", "--profiler", "kineto"], "profiler kineto: needs a folder to write to"),
        (["small", "--batch", "7"], "comes with 2 samples"),
        (["small", "--batch", "7", "--with", "batch=2"], "preprocessor: 'batch' is asked for twice"),
        (["small", "--device", "tpu"], "device: unknown name 'tpu'"),
        (["small", "--interval", "0"], "interval must be > 0"),
        (["raising"], "the function raised FileNotFoundError: weights.bin"),
        (["missing"], "module 'raising_models' has no 'missing'"),
    ],
)
def test_bad_input_is_refused(
    models: str, options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = [f"{models}:{options[0]}"] if options else []
    assert run(["profile", *target, *options[1:]]) == 2
    assert re.search(f"^error: .*{complaint}", capsys.readouterr().err, re.DOTALL | re.MULTILINE)


def test_a_folder_that_cannot_be_made_is_a_failure(models: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", f"{models}:small", "--out", "/dev/null/x", "--format", "json"]) == 1
    assert capsys.readouterr().err == "error: --out: /dev/null/x: cannot make the folder: Not a directory\n"


@pytest.mark.slow
def test_a_profile_on_a_cluster_of_this_machine(
    models: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["profile", f"{models}:small", "--ray", "local", "--budget", "0", "--out", str(out), "--format", "json"]
    assert run(command) == 0
    assert [row.provenance for row in load_profile(out).modules] == ["measured"] * 3
    assert [file.name for file in out.iterdir()] == ["profile.json"]
    assert "done in" in capsys.readouterr().err
