import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import CorruptFileError, InputError
from profiles.kernel_time import KernelTime
from profiles.model_profile import CallProfile, ModelProfile
from profiles.profilers.protocol import Figure
from profiles.results import PROFILE_FILE, load_profile, save_profile
from tests.profiles.results.sample import sample_profile
from tests.profiles.rows import any_latency, any_profile, any_text

_figures = st.none() | st.floats(allow_nan=False, allow_infinity=False)
_calls = st.builds(
    CallProfile,
    path=any_text,
    batch=any_text,
    signature=any_text,
    count=st.integers(1, 10**6),
    phase=st.sampled_from(["forward", "backward"]),
    weight=st.floats(0, 1),
    warm=any_latency,
    cold=any_latency,
)
_kernels = st.builds(
    KernelTime,
    path=st.none() | any_text,
    kernel=any_text,
    device=any_text,
    calls=st.floats(0, 1e6),
    milliseconds=st.floats(0, 1e6),
    uses_tensor_cores=st.none() | st.booleans(),
)
_rows = st.builds(
    lambda profile, figures: replace(profile, figures=figures), any_profile, st.dictionaries(any_text, _figures)
)
any_model_profile = st.builds(
    ModelProfile,
    rows=st.lists(_rows, min_size=1, max_size=3).map(tuple),
    profile_seconds=st.floats(0, 1e6),
    name=any_text,
    calls=st.lists(_calls, max_size=2).map(tuple),
    kernels=st.lists(_kernels, max_size=2).map(tuple),
    figures=st.lists(st.builds(Figure, name=any_text, title=any_text), max_size=2).map(tuple),
    costs=st.dictionaries(any_text, st.floats(0, 1e6), max_size=2),
    notes=st.lists(any_text, max_size=2).map(tuple),
)


@given(profile=any_model_profile)
def test_a_profile_comes_back_as_it_was(profile: ModelProfile, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("profile")
    assert load_profile(save_profile(profile, folder)) == profile
    assert load_profile(folder) == profile


def test_calls_of_older_files_are_forward_ones_of_the_only_batch(tmp_path: Path) -> None:
    file = save_profile(sample_profile(), tmp_path)
    body = json.loads(file.read_text(encoding="utf-8"))
    for call in body["calls"]:
        del call["phase"], call["weight"]
    file.write_text(json.dumps(body), encoding="utf-8")
    assert [(call.phase, call.weight) for call in load_profile(file).calls] == [("forward", 1.0)]


def test_a_figure_that_is_not_finite_is_written_as_unknown_and_named(tmp_path: Path) -> None:
    first, *rest = sample_profile().rows
    broken = replace(first, figures={"error": math.nan, "ratio": 2.0})
    profile = sample_profile(rows=(broken, *rest), costs={"overhead": math.inf, "seconds": 1.0})
    loaded = load_profile(save_profile(profile, tmp_path))
    assert loaded.rows[0].figures == {"error": None, "ratio": 2.0}
    assert loaded.costs == {"seconds": 1.0}
    assert loaded.notes[-2:] == (
        "model: error was nan, which is written as unknown",
        "costs: overhead was inf, which is written as unknown",
    )


@pytest.mark.parametrize("kept_share", [0.0, 0.3, 0.99])
def test_a_truncated_file_is_corrupt(tmp_path: Path, kept_share: float) -> None:
    file = save_profile(sample_profile(), tmp_path)
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: int(kept_share * len(text))], encoding="utf-8")
    with pytest.raises(CorruptFileError, match=r"profile\.json: not a whole JSON file"):
        load_profile(tmp_path)


def edited(tmp_path: Path, key: str, value: Any) -> Path:
    file = save_profile(sample_profile(), tmp_path)
    body = json.loads(file.read_text(encoding="utf-8"))
    body[key] = value
    file.write_text(json.dumps(body), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("schema", "recplan.plan/1", "schema: must be 'recplan.model-profile/1', but got 'recplan.plan/1'"),
        ("rows", [], "rows: must hold the model's row at least"),
        ("rows", 7, "not iterable"),
        ("rows", [{"schema": "recplan.profile/1"}], r"rows\[0\]: profile row: 'fingerprint'"),
        ("calls", [{"path": "a"}], r"calls\[0\]: .* missing 3 required keyword-only arguments"),
        ("costs", 3, "not iterable"),
        ("profile_seconds", "long", "could not convert string to float"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, key: str, value: Any, complaint: str) -> None:
    with pytest.raises(CorruptFileError, match=rf"profile\.json: .*{complaint}"):
        load_profile(edited(tmp_path, key, value))


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    file = tmp_path / PROFILE_FILE
    file.write_text('{"schema": "recplan.model-profile/1"}', encoding="utf-8")
    with pytest.raises(CorruptFileError, match="rows: is missing"):
        load_profile(file)


@pytest.mark.parametrize("text", ["[1]", '"profile"', "3"])
def test_other_json_is_corrupt(tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CorruptFileError, match="must hold one JSON object"):
        load_profile(file)


def test_no_file_is_wrong_input_and_says_how_one_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file; a profile is written by `recplan profile TARGET --out DIR`"):
        load_profile(tmp_path)
