"""Fit the cost model of a study's devices, and find how far it can be trusted."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.cost_model.estimates import DeviceModel
from planner.cost_model.model import fit_device_model
from planner.cost_model.noise import remeasure_with
from planner.cost_model.training_rows import WHOLE_MODEL
from planner.cost_model.validation import ValidationReport, validate
from planner.cost_model.whole_models import measure_whole_models
from planner.pipeline.data import StudyData
from planner.pipeline.sweeping import candidate_models, sweep_options
from planner.pipeline.workspace import Workspace
from planner.progress import Progress
from planner.study import DeviceSection, Study
from profiles.errors import InputError
from profiles.executors import Executor
from profiles.fingerprint import current_fingerprint
from profiles.hardware import LOCAL_CPU
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from representations.components import work_of
from representations.provider import RecommendationProvider
from representations.specs import ModelSpec

__all__ = ["component_rows", "fit_cost_model", "validate_study", "validation_models"]

# Whole models that hold the composition to account: so many of each representation, at these batches.
_MODELS_PER_REPRESENTATION = 2
_MODEL_BATCHES = (1, 32, 512, 2048)


def component_rows(study: Study, workspace: Workspace, kind: str) -> tuple[ComponentProfile, ...]:
    """Measured rows of one kind of device, all of one set-up: the present one here, else the newest.

    Raises:
        InputError: this machine's rows are all of another set-up (library versions, threads); names what to do.
    """
    rows = [row for row in ProfileStore(workspace.profiles).load() if row.device == kind and row.kind != WHOLE_MODEL]
    measured = [row for row in rows if row.provenance == "measured"]
    if not measured:
        return ()
    key = measured[-1].fingerprint.device_key()
    if kind == LOCAL_CPU:
        key = current_fingerprint(kind, study.sweep.threads).device_key()
        if all(row.fingerprint.device_key() != key for row in measured):
            raise InputError(
                f"{workspace.profiles}: its {len(measured)} rows of {kind} were measured under another set-up "
                f"({measured[-1].fingerprint.device_key()}; now {key}): sweep again"
            )
    return tuple(row for row in measured if row.fingerprint.device_key() == key)


def fit_cost_model(study: Study, workspace: Workspace) -> CostModel:
    """A device model for each of the study's devices: fitted where the store has its rows, else the catalogue's.

    Raises:
        InputError: this machine is among the devices and has no rows yet.
    """
    fitted: dict[str, DeviceModel] = {}
    for kind in dict.fromkeys(device.kind for device in study.devices):
        if rows := component_rows(study, workspace, kind):
            fitted[kind] = fit_device_model(rows, work_of, seed=study.seed, busy_w=_power(study, kind))
        elif kind == LOCAL_CPU:
            raise InputError(f"{workspace.profiles}: has no measurements of this machine yet: sweep first")
    return CostModel(models={device.name: fitted.get(device.kind) or _estimate(device) for device in study.devices})


def validate_study(
    study: Study,
    data: StudyData,
    workspace: Workspace,
    progress: Progress,
    executor: Executor | None = None,
    *,
    remeasure: bool = True,
) -> ValidationReport:
    """Held-out and composed errors on this machine, beside the noise floor.

    The floor compares a subset of the sweep with a second measurement; `remeasure=False` takes the scatter within the
    first one instead.
    """
    from profiles.executors.in_process import InProcessExecutor

    models = validation_models(candidate_models(study, data))
    options = sweep_options(study)
    with progress.stage(f"measuring {len(models)} whole models"):
        measured = measure_whole_models(
            models,
            _MODEL_BATCHES,
            ProfileStore(workspace.profiles),
            zipf=data.zipf,
            executor=executor,
            options=options,
        )
    again = remeasure_with(RecommendationProvider(), executor or InProcessExecutor(), options) if remeasure else None
    with progress.stage("validating the cost model"):
        rows = component_rows(study, workspace, LOCAL_CPU)
        return validate(rows, measured, work_of, seed=study.seed, zipf=data.zipf, remeasure=again)


def validation_models(models: Sequence[ModelSpec]) -> tuple[ModelSpec, ...]:
    """A few models of each representation, evenly spread over its range of sizes."""
    ordered = sorted(models, key=lambda model: (model.representation, model.parameter_bytes, model.name))
    chosen: list[ModelSpec] = []
    for _, group in groupby(ordered, key=lambda model: model.representation):
        chosen += _spread(tuple(group), _MODELS_PER_REPRESENTATION)
    return tuple(chosen)


def _spread(models: Sequence[ModelSpec], count: int) -> list[ModelSpec]:
    if len(models) <= count:
        return list(models)
    return [models[round((i + 0.5) / count * (len(models) - 1))] for i in range(count)]


def _power(study: Study, kind: str) -> float | None:
    given: Mapping[str, float | None] = {device.kind: device.power_w for device in study.devices}
    hardware = next(device.hardware for device in study.devices if device.kind == kind)
    return given[kind] if given[kind] is not None else hardware.tdp_w


def _estimate(device: DeviceSection) -> DeviceModel:
    return RooflineDeviceModel(hardware=device.hardware, work=work_of, power_w=device.power_w)
