import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from profiles.errors import InputError
from profiles.profilers.kineto import KinetoTraces
from tests.profiles.profilers.subjects import findings_of, subjects_of
from tests.profiles.small_models import Net, net_inputs


def traced(profiler: KinetoTraces, folder: Path) -> dict[str, str]:
    args, kwargs = net_inputs()
    found = findings_of(profiler, subjects_of(Net().eval(), *args, kwargs=kwargs), folder)
    return {path: finding.artefacts["trace"] for path, finding in found.items() if finding.artefacts}


def events_of(path: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return events


def test_the_trace_of_a_module_holds_its_operators_under_the_names_of_its_modules(tmp_path: Path) -> None:
    files = traced(KinetoTraces(), tmp_path)
    assert files["blocks.0"] == "traces/blocks.0.json.gz"
    names = [event.get("name", "") for event in events_of(tmp_path / files["blocks.0"])]
    assert "aten::addmm" in names
    assert any(name.endswith(": linear") for name in names)
    assert files[""] == "traces/model.json.gz"


def test_only_modules_down_to_a_depth_are_traced(tmp_path: Path) -> None:
    assert set(traced(KinetoTraces(depth=1), tmp_path)) == {"", "shared", "norm", "drop", "table"}


def test_only_modules_with_a_share_of_the_time_are_traced(tmp_path: Path) -> None:
    assert set(traced(KinetoTraces(share=1.0), tmp_path)) <= {"", "norm", "table"}
    assert (tmp_path / "traces" / "model.json.gz").exists()


def test_a_backward_pass_has_a_file_of_its_own(tmp_path: Path) -> None:
    subjects = subjects_of(nn.Linear(2, 2), torch.ones(1, 2), phase="backward")
    found = findings_of(KinetoTraces(), subjects, tmp_path)
    assert found[""].artefacts["trace"] == "traces/model.backward.json.gz"
    assert any(
        "AddmmBackward0" in event.get("name", "") for event in events_of(tmp_path / found[""].artefacts["trace"])
    )


def test_a_profiler_without_a_folder_says_so() -> None:
    with pytest.raises(InputError, match="traces: must have a folder"):
        findings_of(KinetoTraces(), subjects_of(nn.ReLU(), torch.ones(1)))


@pytest.mark.parametrize("text", ["depth=-1", "share=2", "depth=two", "width=3"])
def test_options_that_are_not_there_or_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="profiler kineto"):
        KinetoTraces.from_text(text)


@pytest.mark.slow
def test_sessions_are_silent_and_leave_the_environment_as_it_was() -> None:
    # In a process of its own: the first session of a process decides how much all of them say.
    script = (
        "import os, torch; from profiles.profilers.session import profiler_session; before = dict(os.environ)\n"
        "with profiler_session('cpu'): torch.ones(2)\n"
        "assert dict(os.environ) == before"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
