from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from planner.pipeline.data import load_study_data
from planner.pipeline.modelling import fit_cost_model
from planner.pipeline.profile_sources import calibrated_rows, calibration_notes, sourced_rows
from planner.pipeline.workspace import Workspace, open_workspace
from planner.study import Study, load_study
from profiles.errors import InputError
from profiles.fingerprint import current_fingerprint
from profiles.hardware import LOCAL_CPU
from profiles.records import ComponentProfile, Fingerprint
from profiles.store import ProfileStore
from tests.planner.cost_model.synthetic import linears, profile_of


def study_with(study_file: Path, **sweep: object) -> Study:
    study = load_study(study_file)
    return replace(study, sweep=replace(study.sweep, **sweep))  # type: ignore[arg-type]  # keys of the section


def store_rows(folder: Path, fingerprint: Fingerprint, sizes: Sequence[tuple[int, int]]) -> list[ComponentProfile]:
    rows = [profile_of(one, 1.0, fingerprint=fingerprint) for one in linears(sizes, batches=(1, 8))]
    for row in rows:
        ProfileStore(folder).append(row)
    return rows


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return open_workspace(tmp_path / "out")


def here(**changes: object) -> Fingerprint:
    return replace(current_fingerprint(LOCAL_CPU, 1), **changes)  # type: ignore[arg-type]  # fields of the fingerprint


def test_rows_of_the_present_set_up_come_from_study_and_calibration(
    study_file: Path, workspace: Workspace, tmp_path: Path
) -> None:
    own = store_rows(workspace.profiles, here(), [(2, 2)])
    store_rows(workspace.profiles, here(threads=2), [(4, 4)])
    calibrated = store_rows(tmp_path / "calibration", here(), [(3, 3)])
    study = study_with(study_file, profiles=str(tmp_path / "calibration"))
    found = sourced_rows(study, workspace, LOCAL_CPU)
    assert {row.spec for row in found.rows} == {row.spec for row in (*own, *calibrated)}
    assert found.notes == ()
    assert calibrated_rows(study, LOCAL_CPU, here()) == tuple(calibrated)


def test_stale_rows_are_refused_with_what_differs(study_file: Path, workspace: Workspace) -> None:
    store_rows(workspace.profiles, here(threads=2, python="2.7"), [(2, 2)])
    with pytest.raises(InputError, match=r"under another set-up: threads 2 \(now 1\); python 2.7 .*--allow-stale"):
        sourced_rows(study_with(study_file), workspace, LOCAL_CPU)


def test_stale_rows_that_are_admitted_flag_the_model(study_file: Path, workspace: Workspace) -> None:
    store_rows(workspace.profiles, here(threads=2), [(2, 2), (3, 3)])
    study = study_with(study_file, allow_stale=True)
    assert len(sourced_rows(study, workspace, LOCAL_CPU).rows) == 4
    models = fit_cost_model(study, load_study_data(study), workspace).models
    assert models["cpu"].notes[0] == "stale: measured under another set-up: threads 2 (now 1)"


def test_a_device_elsewhere_has_the_rows_of_its_newest_set_up(study_file: Path, workspace: Workspace) -> None:
    for timestamp, threads in (("2030", 1), ("2031", 2)):
        store_rows(workspace.profiles, here(device="v100", timestamp=timestamp, threads=threads), [(2, 2)])
    rows = sourced_rows(study_with(study_file), workspace, "v100").rows
    assert {row.fingerprint.threads for row in rows} == {2}
    assert sourced_rows(study_with(study_file), workspace, "ipu-pod16").rows == ()


def test_a_calibration_that_does_not_count_is_told_by_what_it_holds(study_file: Path, tmp_path: Path) -> None:
    def notes(**fingerprint: object) -> tuple[str, ...]:
        folder = tmp_path / str(fingerprint)
        store_rows(folder, here(**fingerprint), [(2, 2)])
        return calibration_notes(study_with(study_file, profiles=str(folder)), LOCAL_CPU, here())

    assert notes() == ()
    assert notes(device="v100")[0].endswith(": profiles of v100, none of local-cpu: not used")
    assert notes(threads=2)[0].endswith(": 2 rows of local-cpu with threads 2 (now 1): not used")
    assert calibration_notes(study_with(study_file), LOCAL_CPU, here()) == ()


def test_a_calibration_that_is_not_there_is_named(study_file: Path, workspace: Workspace) -> None:
    with pytest.raises(InputError, match=r"sweep.profiles: must be a folder of profiles, but there is no .*/nowhere"):
        sourced_rows(study_with(study_file, profiles="nowhere"), workspace, LOCAL_CPU)
