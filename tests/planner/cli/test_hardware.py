import json
from pathlib import Path
from typing import Any

import pytest

from planner.cli.app import run
from planner.pipeline import calibrating
from planner.pipeline.calibrating import Calibration, calibrate, ship_calibration
from planner.progress import QuietProgress
from profiles.errors import InputError
from profiles.shipped import shipped_devices, shipped_profiles
from profiles.store import ProfileStore


def body_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["hardware", *arguments, "--json"]) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_the_catalogue_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    body = body_of(capsys)
    assert "local-cpu" in {device["name"] for device in body["devices"]}
    assert body["profiles_of"] == list(shipped_devices())
    assert run(["hardware"]) == 0
    out = capsys.readouterr().out
    assert "to be measured" in out
    assert "measured profiles ship of: local-cpu (AMD EPYC, 2 cores, 1 thread, 20" in out


def test_a_calibration_leaves_profiles_and_says_how_to_use_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wanted = ("--calibrate", "--quick", "--budget", "20", "--kind", "id_split", "--out", str(tmp_path))
    body = body_of(capsys, *wanted)
    (family,) = body["families"]
    assert (family["family"], body["measured"]) == ("id_split", family["points"])
    assert len(ProfileStore(tmp_path).load()) == body["measured"]
    assert run(["hardware", *wanted]) == 0
    out = capsys.readouterr().out
    assert "0 skipped" in out
    assert f'[sweep] profiles = "{tmp_path}", plan, search and review by --profiles {tmp_path}' in " ".join(out.split())


def test_a_calibration_can_become_part_of_the_package(tmp_path: Path) -> None:
    wanted = Calibration(points=8, first=8, kinds=("id_split",))
    result = calibrate(wanted, tmp_path / "store", QuietProgress())
    ship_calibration(tmp_path / "store", "cpu", 1, tmp_path)
    shipped = shipped_profiles("local-cpu", tmp_path)
    assert len(shipped) == result.sweep.measured == 8
    assert all("visits_apart" in row.figures for row in shipped)  # as a study's, labelled by visits that agree
    with pytest.raises(InputError, match="must be a number of seconds > 0, but got 0"):
        calibrating.Calibration(seconds=0)


def test_a_short_calibration_begins_with_fewer_points() -> None:
    assert [Calibration(seconds=seconds).first_of(20) for seconds in (300.0, 60.0, 1.0)] == [24, 12, 8]
    assert Calibration(first=4).first_of(20) == 4


def test_copies_are_measured_of_a_device_that_they_must_reach() -> None:
    there, here = ({space.kind for space in Calibration(device=name).spaces} for name in ("h200", "local-cpu"))
    assert there - here == {"host_to_device"}


def test_the_suite_prints_what_is_achieved(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    body = body_of(capsys, "--suite", "--quick", "--out", str(tmp_path))
    assert {"name", "median_ms", "flops_per_s", "bytes_per_s", "flops_share"} <= set(body["rows"][0])
    assert run(["hardware", "--suite", "--quick", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "TFLOP/s" in out
    assert "GEMM 128" in out
    assert "of peak" not in out
    assert "note: 150 rows per table instead of 1,000,000\n" in out
    assert max(map(len, out.splitlines()[:-1])) <= 80


def test_one_run_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hardware", "--suite", "--calibrate"]) == 2
    assert "two runs" in capsys.readouterr().err


@pytest.mark.parametrize("run_of", ["--calibrate", "--suite"])
def test_a_device_that_is_not_here_is_refused_by_its_option(
    run_of: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["hardware", run_of, "--device", "tpu", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith("error: --device: unknown name 'tpu'")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [["--quick"], ["--out", "x"], ["--device", "cpu"], ["--threads", "1"]])
def test_what_belongs_to_a_measurement_is_refused_without_one(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["hardware", *words]) == 2
    assert f"{words[0]} is of a measurement" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--budget", "inf"], "error: --budget: must be a number of seconds > 0, but got inf"),
        (["--kind", "liner"], "error: --kind: unknown name 'liner' (did you mean 'linear'?)"),
    ],
)
def test_a_calibration_that_cannot_be_makes_no_folder(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["hardware", "--calibrate", *words, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith(said)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("run_of", ["--calibrate", "--suite"])
def test_a_file_is_no_folder(run_of: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert run(["hardware", run_of, "--out", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith("error: --out: ")


@pytest.mark.parametrize(
    "words", [["--ship"], ["--training", "--suite"], ["--kind", "linear"], ["--budget", "9", "--suite"]]
)
def test_what_belongs_to_a_calibration_is_refused_without_one(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["hardware", *words]) == 2
    assert f"{words[0]} is of a calibration" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["sweep", "validate"])
def test_a_study_can_be_pointed_at_a_calibration(
    command: str, study_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, str(study_file), "--out", str(tmp_path), "--profiles", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("error: --profiles: must be a folder of profiles")
