import json
from dataclasses import replace
from pathlib import Path

import pytest
from torch import nn

from profiles.errors import CorruptFileError
from profiles.module_part import ProfilePart
from profiles.part_file import PartFile, request_key
from profiles.profile_options import ProfileOptions
from profiles.providers import InputBatch, Target
from profiles.walk import walking


@pytest.fixture(scope="module")
def part() -> ProfilePart:
    import torch

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    target = Target(name="small", model=model, batches=(InputBatch(args=(torch.ones(2, 4),)),))
    with walking(target, options=ProfileOptions(budget_s=0.0)) as walk:
        return walk.measure()


def device_keys(part: ProfilePart) -> frozenset[str]:
    return frozenset({part.modules[0].row.fingerprint.device_key()})


def test_parts_come_back_as_they_were(part: ProfilePart, tmp_path: Path) -> None:
    file = PartFile(path=tmp_path / "parts.jsonl", key="k")
    assert file.parts(device_keys(part)) == []
    file.append(part)
    file.append(replace(part, name="second"))
    assert file.parts(device_keys(part)) == [part, replace(part, name="second")]


def test_parts_of_other_requests_and_environments_are_left_alone(part: ProfilePart, tmp_path: Path) -> None:
    PartFile(path=tmp_path / "parts.jsonl", key="k").append(part)
    assert PartFile(path=tmp_path / "parts.jsonl", key="other").parts(device_keys(part)) == []
    assert PartFile(path=tmp_path / "parts.jsonl", key="k").parts(frozenset({"elsewhere"})) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [({"schema": "x"}, "schema: must be"), ({}, "'modules'"), ({"modules": [{}]}, "'own'")],
)
def test_a_broken_line_is_named(line: dict[str, object], complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "parts.jsonl"
    path.write_text(json.dumps({"schema": "recplan.profile-part/1", "key": "k", "name": "", **line}) + "\n")
    with pytest.raises(CorruptFileError, match=f"parts.jsonl:1: .*{complaint}"):
        PartFile(path=path, key="k").parts(frozenset())


def test_a_request_is_the_same_in_another_folder_and_another_with_other_options() -> None:
    options = ProfileOptions()
    key = request_key("m", options, (), ())
    assert key == request_key("m", replace(options, folder=Path("x")), (), ())
    assert len({key, request_key("n", options, (), ()), request_key("m", replace(options, cold=True), (), ())}) == 3
