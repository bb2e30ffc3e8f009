from dataclasses import replace
from pathlib import Path

from planner.pipeline.data import load_study_data
from planner.pipeline.modelling import device_rows, fit_cost_model, remeasurement
from planner.pipeline.workspace import Workspace
from planner.study import DeviceSection, load_study


def test_each_device_has_its_own_power_and_whole_models_tell_the_scatter(planned: Path, study_file: Path) -> None:
    study = load_study(study_file)
    devices = (DeviceSection(name="a", power_w=90.0), DeviceSection(name="b"), DeviceSection(name="c", power_w=50.0))
    study, workspace = replace(study, devices=devices), Workspace(planned)
    assert "model" in {row.kind for row in device_rows(study, workspace, "local-cpu")}
    models = fit_cost_model(study, load_study_data(study), workspace).models
    assert [models[name].busy_w for name in "abc"] == [90.0, devices[1].hardware.tdp_w, 50.0]
    assert any("from whole models" in note for note in models["a"].notes)


def test_a_processor_that_is_not_here_is_estimated_from_this_one(planned: Path, study_file: Path) -> None:
    study = load_study(study_file)
    here, there = DeviceSection(name="here"), DeviceSection(name="there", kind="xeon-e5-2680v4")
    study = replace(study, devices=(here, there, DeviceSection(name="gpu", kind="v100")))
    models = fit_cost_model(study, load_study_data(study), Workspace(planned)).models
    assert any("from the utilisation measured on here" in note for note in models["there"].notes)
    assert any("estimated from published figures" in note for note in models["gpu"].notes)


def test_rows_of_another_set_up_are_not_measured_again_under_this_one(planned: Path, study_file: Path) -> None:
    study = load_study(study_file)
    setup = device_rows(study, Workspace(planned), "local-cpu")[-1].fingerprint
    assert remeasurement(study, setup) is not None
    assert remeasurement(study, replace(setup, threads=setup.threads + 1)) is None
