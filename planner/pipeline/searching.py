"""Search a study's space: costs from the cost model, accuracy from really training."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from planner.cost_model.composition import CostModel
from planner.pipeline.data import StudyData
from planner.pipeline.judging import JudgedPredictor, study_columns
from planner.pipeline.workspace import Workspace
from planner.progress import Progress
from planner.search import (
    InProcessTrials,
    Predicted,
    RungStep,
    SearchProgress,
    SearchResult,
    SearchTask,
    Trained,
    Trainer,
    TrialExecutor,
    load_search,
    run_search,
)
from planner.search.candidate import candidate_key
from planner.search.evaluation import check_rungs
from planner.search.manifest import compare_manifest
from planner.search.repricing import repriced
from planner.search.storage import JOURNAL
from planner.study import Study, TrainingSection
from planner.study.search import SearchMethod
from profiles.errors import CorruptFileError, InputError
from profiles.parquet import write_frame
from profiles.units import SECONDS_PER_HOUR
from representations.components import model_work
from representations.datasets import Splits
from representations.metrics import NOT_SCORED, Metrics, score
from representations.model import RecommendationModel
from representations.specs import ModelSpec
from representations.tables.quantise import quantise_as, trainable_spec
from representations.training import predict, train
from representations.training_config import Checkpoints, TrainingConfig, TrainingResult

__all__ = [
    "SearchOptions",
    "StudyPredictor",
    "StudyTrainer",
    "finished_search",
    "search_study",
    "search_task",
    "served_model",
    "training_config",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyPredictor:
    """Predicts a candidate's latency for one query of `batch` samples on every device."""

    cost_model: CostModel
    batch: int
    zipf: Mapping[str, float]

    def __call__(self, spec: ModelSpec, /) -> Predicted:
        """The predicted costs of `spec`; FLOPs are per sample."""
        latency = {
            device: float(self.cost_model.predict_model(spec, (self.batch,), device, self.zipf).mean_ms[0])
            for device in self.cost_model.models
        }
        return Predicted(latency_ms=latency, parameter_bytes=spec.parameter_bytes, flops=model_work(spec, 1).flops)


def study_predictor(study: Study, data: StudyData, cost_model: CostModel) -> JudgedPredictor:
    """Predicts all that the study's objectives and constraints name, one by one and by column."""
    memory_bytes = next(one.memory_bytes for one in study.devices if one.name == study.latency_device)
    return JudgedPredictor(
        one=StudyPredictor(cost_model=cost_model, batch=study.latency_batch, zipf=data.zipf),
        by_column=study_columns(study, data, cost_model),
        memory_bytes=memory_bytes,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyTrainer:
    """Trains a candidate on the study's rows; picklable, so that it can travel to a Ray worker.

    What a training that stops at a rung needs to go on lies in the folder `carried`, which workers of other machines
    must share to find it; without one, each rung trains from the beginning. `device` is torch's name of where models
    train, on whichever machine that is.
    """

    splits: Splits
    section: TrainingSection
    rungs: tuple[float, ...] = (1.0,)
    carried: Path | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_rungs(self.rungs)

    def __call__(self, spec: ModelSpec, seed: int, /) -> Trained:
        """Train `spec` from `seed` and judge it on the validation rows; test rows are only reported."""
        result = train(trainable_spec(spec), self.splits, training_config(self.section, seed, self.device))
        return self._judged(result, spec, result.seconds)

    def train_rung(self, spec: ModelSpec, seed: int, step: RungStep, /) -> Trained:
        """Train `spec` up to a rung; `seconds` are of the whole call, judging included."""
        begin_s = time.perf_counter()
        config, share = training_config(self.section, seed, self.device), self.rungs[step.rung]
        if self.carried is None:
            result = train(trainable_spec(spec), self.splits, config, share=share)
        else:
            # One model has several names where candidates choose their device, and one training.
            key = candidate_key(spec)
            file = self.carried / f"{key}-{seed}.safetensors"
            plain, checkpoints = trainable_spec(spec).renamed(key), Checkpoints(path=file)
            try:
                result = train(plain, self.splits, config, checkpoints=checkpoints, share=share)
            except CorruptFileError:
                file.unlink()
                result = train(plain, self.splits, config, checkpoints=checkpoints, share=share)
            if share == 1:
                file.unlink(missing_ok=True)
        trained = self._judged(result, spec, 0.0)
        return replace(trained, seconds=time.perf_counter() - begin_s)

    def _judged(self, result: TrainingResult, spec: ModelSpec, seconds: float) -> Trained:
        _, validation, test = served_model(result, spec, self.splits)
        return Trained(
            auc=validation.auc,
            log_loss=validation.log_loss,
            accuracy=validation.accuracy,
            seconds=seconds,
            test={} if test is NOT_SCORED else asdict(test),
        )


def served_model(
    result: TrainingResult, spec: ModelSpec, splits: Splits
) -> tuple[RecommendationModel, Metrics, Metrics]:
    """The model that is served with its validation and test metrics: quantised where the candidate's tables are.

    The test rows wait for the end of a training.
    """
    if spec.embeddings == result.spec.embeddings:
        return result.model, result.validation, result.test
    served = quantise_as(result.model, spec)
    validation = score(splits.validation.labels_N, predict(served, splits.validation))
    test = score(splits.test.labels_N, predict(served, splits.test)) if result.best_epoch else NOT_SCORED
    return served, validation, test


def training_config(section: TrainingSection, seed: int, device: str = "cpu") -> TrainingConfig:
    """The study's training budget as the training loop takes it."""
    given: dict[str, Any] = {} if section.learning_rate is None else {"learning_rate": section.learning_rate}
    return TrainingConfig(
        epochs=section.epochs,
        batch_size=section.batch_size,
        maximum_rows=section.rows,
        seed=seed,
        device=device,
        **given,
    )


def search_task(study: Study, data: StudyData) -> SearchTask:
    """What is searched; a search is resumed only for an equal task."""
    section = study.data
    return SearchTask(
        features=data.features,
        dense_features=data.dense_features,
        section=study.search,
        latency_device=study.latency_device,
        latency_batch=study.latency_batch,
        model=study.model,
        seed=study.seed,
        data={
            "source": section.source,
            "path": str(section.path.resolve()) if section.path else None,
            "split": section.split,
            "rows": len(data.splits.train) + len(data.splits.validation) + len(data.splits.test),
        },
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchOptions:
    """What a call may ask beyond the study: None leaves the study's own.

    `storage` is the URL of a database that keeps the trials, `warm_start` the folders of earlier searches, from which a
    guided search takes what to expect. `device` is where trials train, as torch calls it; one search may go on on
    another, whose results differ by rounding.
    """

    trials: int | None = None
    hours: float | None = None
    method: SearchMethod | None = None
    finalist_seeds: int | None = None
    storage: str | None = None
    warm_start: tuple[Path, ...] = ()
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.hours is not None and not 0 < self.hours < math.inf:
            raise InputError(f"hours: must be finite and > 0, but got {self.hours}")


def search_study(
    study: Study,
    data: StudyData,
    cost_model: CostModel,
    workspace: Workspace,
    progress: Progress,
    *,
    executor: Callable[[Trainer], TrialExecutor] = InProcessTrials,
    options: SearchOptions | None = None,
) -> SearchResult:
    """Search until the study's trials (or those of `options`) are finished, those of earlier runs included.

    Raises:
        InfeasibleError: no candidate meets the constraints.
        InputError: the workspace holds another study's search.
    """
    section, options = study.search, options or SearchOptions()
    wanted = options.trials or section.trials
    hours = options.hours or section.hours
    task = search_task(study, data)
    predictor = study_predictor(study, data, cost_model)
    trainer = StudyTrainer(
        splits=data.splits,
        section=section.training,
        rungs=(*section.rungs, 1.0),
        carried=(workspace.search / "carried").resolve(),
        device=options.device,
    )
    with progress.stage(f"searching {wanted} candidates", wanted) as stage:

        def tell(now: SearchProgress) -> None:
            stage.update(now.finished, now.wanted, now.note)

        found = run_search(
            task,
            predictor,
            trainer,
            directory=workspace.search,
            trials=wanted,
            sampler=options.method or section.method,
            seconds=hours * SECONDS_PER_HOUR if hours else None,
            finalist_seeds=options.finalist_seeds or section.finalist_seeds,
            storage=options.storage,
            warm_start=tuple(_earlier(folder, options.storage) for folder in options.warm_start),
            executor=executor,
            progress=tell,
        )
    result = repriced(found, task, predictor)
    write_frame(workspace.trials_file, result.frame(), schema="recplan.trials/1")
    return result


def _earlier(folder: Path, storage: str | None) -> SearchResult:
    """An earlier search, from its journal, or from the database of this one where it has none."""
    return load_search(folder, None if (folder / JOURNAL).exists() else storage)


def finished_search(
    study: Study, data: StudyData, cost_model: CostModel, workspace: Workspace, storage: str | None = None
) -> SearchResult:
    """What the workspace's search has found so far, without searching on.

    Raises:
        InputError: there is none, or it was asked something else.
    """
    found = load_search(workspace.search, storage)
    task = search_task(study, data)
    compare_manifest(workspace.search, task)
    return repriced(found, task, study_predictor(study, data, cost_model))
