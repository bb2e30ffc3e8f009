"""Fit the cost model of a study's devices, and find how far it can be trusted."""

from dataclasses import replace

from planner.cost_model.component_errors import component_errors, profile_in_situ
from planner.cost_model.composition import CostModel
from planner.cost_model.context import Context
from planner.cost_model.estimated import estimated_model
from planner.cost_model.estimates import DeviceModel
from planner.cost_model.features import family_of
from planner.cost_model.fitter import usable_cores
from planner.cost_model.in_situ import InSituErrors
from planner.cost_model.model import FittedDeviceModel, fit_device_model, naming_source
from planner.cost_model.noise import Remeasure, remeasure_with
from planner.cost_model.training_rows import WHOLE_MODELS, component_of
from planner.cost_model.unseen import UnseenDeviceModel
from planner.cost_model.validation import ValidationReport, validate
from planner.cost_model.whole_models import MeasuredModel, stored_whole_models
from planner.cost_model.whole_sums import context_of
from planner.pipeline.data import StudyData
from planner.pipeline.measuring import MODEL_BATCHES, validation_models
from planner.pipeline.profile_sources import source_names, sourced_rows
from planner.pipeline.sweeping import candidate_models, sweep_options
from planner.pipeline.workspace import Workspace
from planner.progress import Progress
from planner.study import DeviceSection, Study
from profiles.errors import InputError
from profiles.executors import Executor
from profiles.fingerprint import current_fingerprint
from profiles.hardware import LOCAL_CPU
from profiles.profile_options import ProfileOptions
from profiles.records import ComponentProfile, Fingerprint
from profiles.store import ProfileStore
from representations.components import components_of, work_of
from representations.provider import RecommendationProvider

__all__ = ["device_rows", "fit_cost_model", "remeasurement", "validate_study"]

_ONE_SETUP = (
    "the noise floor is of single calls in the stale rows: a second measurement, made now, would be of another set-up"
)


def device_rows(study: Study, workspace: Workspace, kind: str) -> tuple[ComponentProfile, ...]:
    """Measured rows of one kind of device, whole models among them, all of one set-up; see `sourced_rows`."""
    return sourced_rows(study, workspace, kind).rows


def fit_cost_model(study: Study, data: StudyData, workspace: Workspace) -> CostModel:
    """A device model for each of the study's devices: fitted where the store has its rows, else estimated.

    Estimates are carried over from a measured device of the same class where the study has one, else the catalogue's.
    Whole models in the store teach what components cost more inside a model than alone.

    Raises:
        InputError: this machine is among the devices and has no rows yet, or rows that cannot be; names their store.
    """
    models: dict[str, DeviceModel] = {}
    contexts: dict[str, Context] = {}
    for kind in dict.fromkeys(device.kind for device in study.devices):
        devices = [device for device in study.devices if device.kind == kind]
        found = sourced_rows(study, workspace, kind)
        if rows := found.rows:
            with naming_source(source_names(study, workspace)):
                fitted = fit_device_model(rows, work_of, seed=study.seed, hardware=devices[0].hardware)
            fitted = replace(fitted, source_notes=(*found.notes, *fitted.source_notes))
            whole = _stored_models(study, data, workspace, rows[-1].fingerprint.device_key())
            models |= {device.name: replace(fitted, busy_w=_power(device)) for device in devices}
            contexts |= dict.fromkeys([device.name for device in devices], context_of(fitted, whole, data.zipf))
        elif kind == LOCAL_CPU:
            raise InputError(f"{source_names(study, workspace)}: there are none of this machine yet: sweep first")
    estimated = {
        device.name: estimated_model(device.hardware, models, work_of, power_w=device.power_w)
        for device in study.devices
        if device.name not in models
    }
    return CostModel(models={**models, **estimated}, contexts=contexts)


def validate_study(
    study: Study,
    data: StudyData,
    workspace: Workspace,
    cost_model: CostModel,
    progress: Progress,
    executor: Executor | None = None,
    *,
    thorough: bool = False,
) -> ValidationReport:
    """Held-out and composed errors on this machine, beside the noise floor of a second measurement.

    Families that only a calibration holds, and no candidate has, are left out. A `thorough` one adds the learning
    curve, extrapolation, unseen skews of ids, and the components of one model of each representation while it runs.
    Of rows of another set-up nothing is measured a second time: the noise floor is that of these rows alone.

    Raises:
        InputError: this machine is not among the study's devices, so there is nothing to hold the model against.
    """
    name = next((device.name for device in study.devices if device.kind == LOCAL_CPU), "")
    model = cost_model.models.get(name)
    if not isinstance(model, FittedDeviceModel):
        raise InputError("devices: none is this machine (kind local-cpu), so no prediction can be held against it")
    model = model.only(_families(study, data, workspace))
    whole = _stored_models(study, data, workspace, model.rows.fingerprint.device_key())
    remeasure = remeasurement(study, model.rows.fingerprint, executor)
    with progress.stage("validating the cost model"):
        report = validate(
            model,
            whole,
            seed=study.seed,
            zipf=data.zipf,
            remeasure=remeasure,
            thorough=thorough,
            workers=usable_cores() if thorough else 1,
        )
    if remeasure is None:
        report = replace(report, notes=(*report.notes, _ONE_SETUP))
    if not thorough:
        return report
    # As a new model would be predicted: its components held out.
    unseen = replace(cost_model, models={name: UnseenDeviceModel(model)})
    with progress.stage("measuring models part by part"):
        found, notes = _in_situ(study, data, unseen, name)
    return replace(report, in_situ=found, notes=(*report.notes, *notes))


def remeasurement(study: Study, setup: Fingerprint, executor: Executor | None = None) -> Remeasure | None:
    """How components of this machine are measured a second time; None for rows that were made under another set-up."""
    from profiles.executors.in_process import InProcessExecutor

    if setup.device_key() != current_fingerprint(LOCAL_CPU, study.sweep.threads).device_key():
        return None
    return remeasure_with(RecommendationProvider(), executor or InProcessExecutor(), sweep_options(study))


def _families(study: Study, data: StudyData, workspace: Workspace) -> frozenset[str]:
    """Those that the study measured itself, and those of its candidates."""
    stored = ProfileStore(workspace.profiles).load()
    own = [component_of(row) for row in stored if row.provenance == "measured" and row.kind not in WHOLE_MODELS]
    placed = [one.component for model in candidate_models(study, data) for one in components_of(model, 1)]
    return frozenset(map(family_of, [*own, *placed]))


def _in_situ(
    study: Study, data: StudyData, cost_model: CostModel, device: str
) -> tuple[tuple[InSituErrors, ...], tuple[str, ...]]:
    """The errors inside running models, and what is to be known of how these ran."""
    options = ProfileOptions(threads=study.sweep.threads, quiet_core=sweep_options(study).quiet_core)
    found, notes = [], []
    for spec in validation_models(candidate_models(study, data), 1):
        profile = profile_in_situ(spec, study.latency_batch, data.zipf, options=options)
        errors = component_errors(cost_model, spec, profile, device, data.zipf)
        found.append(InSituErrors(model=spec.name, representation=spec.representation, errors=errors))
        notes += [f"inside {spec.name}: {note}" for note in profile.notes]
    return tuple(found), tuple(notes)


def _stored_models(study: Study, data: StudyData, workspace: Workspace, device_key: str) -> tuple[MeasuredModel, ...]:
    models = validation_models(candidate_models(study, data), study.sweep.whole_models)
    return stored_whole_models(models, MODEL_BATCHES, ProfileStore(workspace.profiles), device_key, zipf=data.zipf)


def _power(device: DeviceSection) -> float | None:
    return device.power_w if device.power_w is not None else device.hardware.tdp_w
