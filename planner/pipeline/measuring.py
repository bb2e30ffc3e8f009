"""Everything that a study has measured: components wherever they are here, and a few whole models on this machine."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from planner.cost_model.whole_models import WholeModelProvider, WholeModelSweep
from planner.pipeline.data import StudyData
from planner.pipeline.sweeping import candidate_models, measured_kinds, sweep_options, sweep_study
from planner.pipeline.workspace import Workspace
from planner.progress import Progress
from planner.study import Study
from profiles.executors import Executor
from profiles.hardware import LOCAL_CPU
from profiles.store import ProfileStore
from profiles.sweep import SweepResult
from representations.specs import ModelSpec

__all__ = ["MODEL_BATCHES", "SERVED_BATCHES", "measure_study", "validation_models", "whole_models_of"]

# Whole models show what components cost inside a model: those chosen are measured at these batches.
MODEL_BATCHES = (1, 32, 512, 2048, 4096)
# Of these the ones that queries have.
SERVED_BATCHES = MODEL_BATCHES[:3]


def measure_study(
    study: Study, data: StudyData, workspace: Workspace, progress: Progress, executor: Executor | None = None
) -> Mapping[str, SweepResult]:
    """Measure what the store does not have yet, whole models beside components; it is compacted at the end.

    Raises:
        StorageError: a row cannot be written; finished rows stay.
    """
    store, models = ProfileStore(workspace.profiles), whole_models_of(study, data)
    results = sweep_study(study, data, workspace, progress, executor, models=models, batches=MODEL_BATCHES)
    if models.specs and LOCAL_CPU in measured_kinds(study, executor):
        whole = WholeModelSweep(
            specs=models.specs, store=store, zipf=data.zipf, executor=executor, options=sweep_options(study)
        )
        # None is left but after an adaptive sweep.
        if left := whole.left(MODEL_BATCHES):
            with progress.stage(f"measuring whole models, {left} by model and batch"):
                whole.measure(MODEL_BATCHES)
        if left := whole.left_to_serve(SERVED_BATCHES):
            with progress.stage(f"timing whole models as they would be served, {left} by model and batch"):
                whole.time_served(SERVED_BATCHES)
    store.compact()
    return results


def whole_models_of(study: Study, data: StudyData) -> WholeModelProvider:
    """The models that the study measures whole."""
    models = validation_models(candidate_models(study, data), study.sweep.whole_models)
    return WholeModelProvider(specs=models, zipf=data.zipf)


def validation_models(models: Sequence[ModelSpec], count: int) -> tuple[ModelSpec, ...]:
    """So many models of each representation, evenly spread over its range of sizes."""
    ordered = sorted(models, key=lambda model: (model.representation, model.parameter_bytes, model.name))
    chosen: list[ModelSpec] = []
    for _, group in groupby(ordered, key=lambda model: model.representation):
        chosen += _spread(tuple(group), count)
    return tuple(chosen)


def _spread(models: Sequence[ModelSpec], count: int) -> list[ModelSpec]:
    if len(models) <= count:
        return list(models)
    return [models[round((i + 0.5) / count * (len(models) - 1))] for i in range(count)]
