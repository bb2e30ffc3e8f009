import json
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli.app import run

MODELS = """
import torch

class Raises(torch.nn.Module):
    def forward(self, x):
        raise ValueError("inside")

class Parent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.an_unusually_long_name_for_a_second_child = torch.nn.Linear(4, 2), Raises()

    def forward(self, x):
        return self.an_unusually_long_name_for_a_second_child(self.first(x))

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
    assert capsys.readouterr().err == f"error: target '{models}:whole': forward raised ValueError: inside\n"


def test_a_model_that_runs_in_part_keeps_names_whole_and_reasons_below(
    models: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", f"{models}:part"]) == 0
    said = capsys.readouterr()
    table, _, notes = said.out.partition("[1] ")
    assert "an_unusually_long_name_for_a_second_child" in table
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
