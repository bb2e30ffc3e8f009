import json
import subprocess
import sys
from pathlib import Path

import pytest

from profiles.__main__ import main
from profiles.records import ComponentProfile
from profiles.results import load_profile
from profiles.store import ProfileStore
from tests.profiles.rows import row

TARGET = "tests.profiles.test_main:small_target"
# Nothing but torch and numpy: every other library of the project refuses to be imported.
BARE = """
import sys
from importlib.abc import MetaPathFinder

class Forbid(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"polars", "ray", "altair", "pydantic", "typer", "rich", "numba", "optuna", "faiss",
                                  "torchrec", "fbgemm_gpu", "sklearn", "scipy", "hypothesis", "pytest"}:
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Forbid())
sys.path.insert(0, sys.argv[1])
from profiles.__main__ import main

folder = sys.argv[2]
assert main(["hardware"]) == 0
assert main(["profile", "a_bare_target:make", "--rows", folder + "/part-bare.jsonl", "--out", folder + "/out"]) == 0
assert main(["profile", "--list"]) == 0
assert main(["compact", folder]) == 1

from profiles import ProfileStore, sweep, SweepOptions, make_component, Work, BuiltComponent
import torch

class Provider:
    def build(self, component, seed):
        return BuiltComponent(module=torch.nn.Linear(2, 2), args=(torch.ones(1, 2),))
    def work(self, component):
        return Work(flops=8, bytes_moved=40, parameter_bytes=24)

options = SweepOptions(seconds_per_visit=1e-4, min_samples=1)
assert sweep([make_component("linear", 1)], Provider(), ProfileStore(folder), options=options).measured == 1
"""


def small_target() -> tuple[object, object]:
    import torch

    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), (torch.ones(2, 4),)


def test_hardware_names_this_machine_and_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hardware"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("local-cpu")
    assert "4.8 TB/s" in output


def test_hardware_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["hardware", "--json"])
    body = json.loads(capsys.readouterr().out)
    assert body["here"][0]["name"] == "local-cpu"
    assert {"v100", "h200"} <= {entry["name"] for entry in body["catalogue"]}


def test_a_profile_is_shown_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "part-model.jsonl"
    assert main(["profile", TARGET, "--rows", str(out), "--out", str(tmp_path / "out"), "--budget", "0"]) == 0
    shown = capsys.readouterr()
    assert [line.split()[1] for line in shown.out.splitlines()[2:5]] == ["(self)", "0", "1"]
    assert "wrote 4 rows" in shown.err
    assert len(load_profile(tmp_path / "out").rows) == 4
    rows = [ComponentProfile.from_row(json.loads(line)) for line in out.read_text().splitlines()]
    assert [profile.path for profile in rows] == ["", "(self)", "0", "1"]
    assert len(ProfileStore(tmp_path).load()) == 4


def test_a_profile_as_json_has_the_keys_that_scripts_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", TARGET, "--depth", "0", "--no-cold", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert list(body) == [
        "modules", "called", "measured", "aggregated", "skipped", "left_out", "latency_ms", "flops", "parameter_bytes",
        "profile_seconds",
    ]  # fmt: skip
    assert body["modules"] == 1


def test_known_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--list"]) == 0
    listed = capsys.readouterr().out
    assert "targets of profiles: nanogpt" in listed
    assert "profilers: kernels, kineto, memory" in listed


def test_compacting_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ProfileStore(tmp_path).append(row())
    assert main(["compact", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'profiles.parquet'}\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["profile", "nowhere"], "unknown name 'nowhere'"),
        (["profile", "nowhere:"], "must look like package.module:function"),
        (["profile"], "name a target, or ask for --list"),
        (["profile", TARGET, "--format", "json"], "--format needs a folder"),
        (["profile", TARGET, "--out", "/tmp", "--format", "xml"], "result writer: unknown name 'xml'"),
        (["profile", TARGET, "--with", "magic"], "preprocessor: unknown name 'magic'"),
        (["profile", TARGET, "--profiler", "memory", "--profiler", "memory"], "'memory' is asked for twice"),
        (["profile", TARGET, "--device", "tpuv3-chip"], "not on this machine"),
        (["profile", TARGET, "--depth", "-1"], "max_depth must be >= 0"),
        (["compact", "/no/such/folder"], "no such folder"),
    ],
)
def test_bad_input_exits_with_2(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert complaint in shown.err
    assert not shown.out


def test_an_unwritable_file_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", TARGET, "--budget", "0", "--rows", "/dev/null/rows.jsonl"]) == 1
    assert "cannot make the folder" in capsys.readouterr().err


def test_it_runs_where_only_torch_and_numpy_are(tmp_path: Path) -> None:
    (tmp_path / "a_bare_target.py").write_text(
        "import torch\ndef make(): return torch.nn.Linear(3, 3), (torch.ones(2, 3),)\n"
    )
    store = tmp_path / "store"
    done = subprocess.run(
        [sys.executable, "-c", BARE, str(tmp_path), str(store)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "error: compact: needs a package that is not installed" in done.stderr
    assert len(ProfileStore(store).load()) == 2


def test_the_command_can_be_called_by_module_name() -> None:
    done = subprocess.run([sys.executable, "-m", "profiles", "--help"], capture_output=True, text=True, check=True)
    assert "hierarchical profile" in done.stdout
