import json
from dataclasses import replace
from pathlib import Path

import pytest
from torch import nn

from profiles.errors import CorruptFileError
from profiles.part_file import PartFile, part_file, request_key
from profiles.plug_ins import named_profilers
from profiles.profile_options import ProfileOptions
from profiles.providers import InputBatch, Target
from profiles.walk import walking
from profiles.walk.module_part import ProfilePart


@pytest.fixture(scope="module")
def part() -> ProfilePart:
    import torch

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    target = Target(name="small", model=model, batches=(InputBatch(args=(torch.ones(2, 4),)),))
    with walking(target, options=ProfileOptions(threads=1, budget_s=0.0)) as walk:
        return walk.measure()


def device_keys(part: ProfilePart) -> frozenset[str]:
    return frozenset({part.modules[0].row.fingerprint.device_key()})


def test_parts_come_back_as_they_were(part: ProfilePart, tmp_path: Path) -> None:
    file = PartFile(path=tmp_path / "parts.jsonl", key="k")
    assert file.parts(device_keys(part), "m") == []
    file.append(part, "m")
    file.append(replace(part, name="second"), "m")
    assert file.parts(device_keys(part), "m") == [part, replace(part, name="second")]


def test_parts_of_other_requests_models_and_environments_are_left_alone(part: ProfilePart, tmp_path: Path) -> None:
    file, keys = PartFile(path=tmp_path / "parts.jsonl", key="k"), device_keys(part)
    file.append(part, "m")
    assert replace(file, key="other").parts(keys, "m") == []
    assert file.parts(keys, "another model") == []
    assert file.parts(frozenset({"elsewhere"}), "m") == []


def test_clearing_leaves_the_parts_of_other_requests(part: ProfilePart, tmp_path: Path) -> None:
    file = PartFile(path=tmp_path / "parts.jsonl", key="k")
    other = replace(file, key="other")
    for one, model in ((file, "m"), (other, "m"), (file, "m as it was")):
        one.append(part, model)
    file.clear()
    assert (file.parts(device_keys(part), "m"), other.parts(device_keys(part), "m")) == ([], [part])
    other.clear()
    other.clear()
    assert not file.path.exists()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [({"schema": "x"}, "schema: must be"), ({}, "'modules'"), ({"modules": [{}]}, "'own'")],
)
def test_a_broken_line_is_named(line: dict[str, object], complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "parts.jsonl"
    path.write_text(
        json.dumps({"schema": "recplan.profile-part/1", "key": "k", "model": "m", "name": "", **line}) + "\n"
    )
    with pytest.raises(CorruptFileError, match=f"parts.jsonl:1: .*{complaint}"):
        PartFile(path=path, key="k").parts(frozenset(), "m")


def test_a_request_is_the_same_in_another_folder_and_another_with_other_options() -> None:
    options = ProfileOptions()
    key = request_key("m", options, (), ())
    assert key == request_key("m", replace(options, folder=Path("x")), (), ())
    assert len({key, request_key("n", options, (), ()), request_key("m", replace(options, cold=True), (), ())}) == 3


def test_a_request_is_another_with_other_options_of_what_is_applied() -> None:
    def key(*texts: str) -> str:
        return request_key("m", ProfileOptions(), (), named_profilers(texts, Path("x")))

    assert key("kernels") == key("kernels")
    texts = ("kernels", "kernels=2", "kineto", "kineto=depth=1", "kineto=share=0.1", "memory", "memory=2")
    assert len({key(text) for text in texts} | {key(), key("kernels", "memory")}) == len(texts) + 2


def test_parts_lie_in_the_folder_of_the_options() -> None:
    assert part_file("m", ProfileOptions(), (), ()) is None
    file = part_file("m", ProfileOptions(folder=Path("x")), (), ())
    assert file == PartFile(path=Path("x/parts.jsonl"), key=request_key("m", ProfileOptions(), (), ()))
