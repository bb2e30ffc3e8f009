import json
from pathlib import Path

import pytest

from planner.cli.app import run
from profiles.results import save_profile
from tests.profiles.analyses.test_diff import SIX, profile


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    save_profile(profile(SIX), tmp_path / "a")
    save_profile(profile({**SIX, "b": 3.0}), tmp_path / "b")
    return str(tmp_path / "a"), str(tmp_path / "b")


def test_the_modules_that_differ_are_shown(folders: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", *folders]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{folders[0]} → {folders[1]}"
    assert lines[4].split()[:3] == ["b", "+1", "ms"]


def test_one_json_object_names_them(folders: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", f"{folders[0]}/profile.json", folders[1], "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["metrics"]["latency_ms"]["named"] == body["metrics"]["flops"]["named"] == ["b"]
    assert body["files"] == []


def test_a_page_is_written(folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", *folders, "--out", str(tmp_path / "out")]) == 0
    assert f"wrote {tmp_path / 'out' / 'diff.html'}" in capsys.readouterr().out
    assert (tmp_path / "out" / "diff.html").is_file()


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("plan.json", '{"schema": "recplan.plan/1"}', "schema: must be 'recplan.model-profile/1', but got"),
        ("study.toml", 'schema = "recplan.study/1"', "not a whole JSON file"),
        ("page.html", "<!DOCTYPE html>", "not a whole JSON file"),
        ("rows.parquet", "PAR1\udcff", "not a whole JSON file"),
        ("missing.json", None, "no such file"),
    ],
)
def test_what_is_no_profile_is_bad_input(
    folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str | None,
    complaint: str,
) -> None:  # fmt: skip
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content.encode(errors="surrogateescape"))
    assert run(["diff", folders[0], str(file)]) == 2
    assert complaint in capsys.readouterr().err
