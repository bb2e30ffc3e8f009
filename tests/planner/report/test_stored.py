import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.report import ReportInputs, ServingInputs, load_inputs, save_inputs
from planner.report.stored import inputs_from_object, inputs_to_object
from profiles.errors import CorruptFileError, InputError
from tests.planner.report.sample import FINGERPRINT, sample_inputs


def test_inputs_come_back_as_they_were_saved(tmp_path: Path) -> None:
    save_inputs(sample_inputs(), tmp_path / "new")
    assert inputs_to_object(load_inputs(tmp_path / "new")) == inputs_to_object(sample_inputs())


def test_parts_that_are_missing_stay_missing(tmp_path: Path) -> None:
    bare = ReportInputs(name="bare", created="2026-03-02", study={}, fingerprint=FINGERPRINT)
    save_inputs(bare, tmp_path)
    assert load_inputs(tmp_path) == bare


def test_numbers_of_other_libraries_become_plain_ones() -> None:
    study = {"a": np.float32(0.5), "b": np.array([1, 2]), "c": Path("d.toml"), "e": math.nan}
    body = inputs_to_object(sample_inputs(study=study))
    assert body["study"] == {"a": 0.5, "b": [1, 2], "c": "d.toml", "e": None}


def test_another_schema_is_refused() -> None:
    with pytest.raises(CorruptFileError, match=r"schema: must be 'recplan\.report/1', but got 'x'"):
        inputs_from_object({"schema": "x"})


def test_a_bad_key_is_named_with_its_file(tmp_path: Path) -> None:
    file = save_inputs(sample_inputs(), tmp_path)
    body = json.loads(file.read_text())
    body["search"]["trials"] = 3
    file.write_text(json.dumps(body))
    with pytest.raises(InputError, match=r"report\.json: search.*trials"):
        load_inputs(tmp_path)


def test_a_bad_profile_row_is_refused() -> None:
    body = inputs_to_object(sample_inputs())
    body["profile"][0]["schema"] = "other"
    with pytest.raises(CorruptFileError, match="profile: schema"):
        inputs_from_object(body)


def test_a_folder_without_a_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_inputs(tmp_path)


def test_serving_needs_its_plan() -> None:
    with pytest.raises(InputError, match="serving: needs the plan"):
        replace(sample_inputs(), plan=None)


def test_a_report_needs_a_name() -> None:
    with pytest.raises(InputError, match="name: must not be empty"):
        sample_inputs(name=" ")


@pytest.mark.parametrize("simulations", [(), ({"policy": ""},), ({"policy": "a"}, {"policy": "a"})])
def test_every_simulation_has_a_label_of_its_own(simulations: tuple[dict[str, str], ...]) -> None:
    with pytest.raises(InputError, match="`policy` label of its own"):
        ServingInputs(simulations=simulations)
