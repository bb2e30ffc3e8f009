from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from profiles.edge import STRICT, parse_object, read_json, read_toml
from profiles.errors import CorruptFileError, InputError


@dataclass(frozen=True, kw_only=True)
class Part:
    __pydantic_config__ = STRICT
    size: int
    mode: Literal["a", "b"] = "a"

    def __post_init__(self) -> None:
        if self.size < 0:
            raise InputError(f"size: must be >= 0, but got {self.size}")
        if self.size == 99:
            raise InputError("is too lucky a number")


@dataclass(frozen=True, kw_only=True)
class Whole:
    __pydantic_config__ = STRICT
    name: str
    part: Part
    parts: tuple[Part, ...] = field(default=())


def test_plain_objects_become_nested_dataclasses() -> None:
    whole = parse_object(Whole, {"name": "w", "part": {"size": 1}, "parts": [{"size": 2, "mode": "b"}]})
    assert whole == Whole(name="w", part=Part(size=1), parts=(Part(size=2, mode="b"),))


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"name": "w", "part": {"size": 1}, "nmae": 1}, "f: nmae: unknown key"),
        ({"part": {"size": 1}}, "f: name: is missing"),
        ({"name": "w", "part": {"size": "x"}}, "f: part.size: must be a valid integer"),
        ({"name": "w", "part": {"size": -5}}, "f: part.size: must be >= 0, but got -5"),
        ({"name": "w", "part": {"size": 99}}, "f: part: is too lucky a number"),
        ({"name": "w", "part": {"size": 1, "mode": "c"}}, "f: part.mode: must be 'a' or 'b', but got 'c'"),
        ({"name": "w", "part": {"size": 1}, "parts": [{"size": 1}, {}]}, "f: parts.1.size: is missing"),
    ],
)
def test_complaints_name_the_key(body: Any, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_object(Whole, body, where="f")
    assert str(caught.value).startswith(complaint)


def test_several_complaints_come_at_once_and_without_a_file_when_there_is_none() -> None:
    with pytest.raises(InputError, match=r"^name: is missing; part: is missing$"):
        parse_object(Whole, {})


def test_an_own_complaint_at_the_top_stands_alone() -> None:
    with pytest.raises(InputError, match=r"^size: must be >= 0, but got -1$"):
        parse_object(Part, {"size": -1})


def test_files_are_read(tmp_path: Path) -> None:
    toml, json = tmp_path / "a.toml", tmp_path / "a.json"
    toml.write_text("x = 1")
    json.write_text('{"x": 1}')
    assert read_toml(toml) == read_json(json) == {"x": 1}


@pytest.mark.parametrize("read", [read_toml, read_json])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    missing, binary, broken = tmp_path / "missing", tmp_path / "binary", tmp_path / "broken"
    binary.write_bytes(b"\xff\xfe")
    broken.write_text("= {")
    with pytest.raises(InputError, match="missing: no such file"):
        read(missing)
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(CorruptFileError, match="binary: not a text file in UTF-8"):
        read(binary)
    with pytest.raises(CorruptFileError, match="broken: not valid"):
        read(broken)


@pytest.mark.parametrize(("read", "start"), [(read_toml, "x = "), (read_json, "")])
def test_files_nested_too_deeply_and_endless_numbers_are_named(
    tmp_path: Path, read: Callable[[Path], Any], start: str
) -> None:
    deep, long = tmp_path / "deep", tmp_path / "long"
    deep.write_text(start + "[" * 200_000 + "]" * 200_000)
    long.write_text(start + "9" * 5000)
    with pytest.raises(CorruptFileError, match=r"deep: not valid .*: nested too deeply"):
        read(deep)
    with pytest.raises(CorruptFileError, match="long: not valid"):
        read(long)


@pytest.mark.parametrize("size", ["x" * 500, -(10**400)])
def test_long_values_are_shortened(size: Any) -> None:
    with pytest.raises(InputError, match=r"part\.size: .*\.\.\.") as caught:
        parse_object(Whole, {"name": "w", "part": {"size": size}})
    assert len(str(caught.value)) < 200


def test_a_truth_is_no_number() -> None:
    with pytest.raises(InputError, match=r"^f: parts\.1\.size: must be a number, but got True$"):
        parse_object(Whole, {"name": "w", "part": {"size": 1}, "parts": [{"size": 1}, {"size": True}]}, "f")
    assert parse_object(dict[str, bool | int], {"a": True, "b": 2}) == {"a": True, "b": 2}


def test_a_path_through_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be read: Not a directory"):
        read_json(tmp_path / "file" / "below")


def test_json_must_hold_an_object(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text("[1]")
    with pytest.raises(CorruptFileError, match="must hold a JSON object, but holds a list"):
        read_json(path)
