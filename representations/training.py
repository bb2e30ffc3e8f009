"""One training loop for every representation."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray

from profiles.errors import InputError
from representations.checkpoint import Checkpoint, restore, save
from representations.datasets.dataset import Dataset
from representations.datasets.splits import Splits
from representations.dhe.embedding import least_work
from representations.ids import check_bags, check_ids
from representations.metrics import NOT_SCORED, Metrics, score
from representations.model import RecommendationModel
from representations.specs import Feature, HybridSpec, ModelSpec, TableSpec
from representations.training_config import Checkpoints, TrainingConfig, TrainingProgress, TrainingResult
from representations.training_rows import TrainingRows
from representations.training_run import TrainingRun

__all__ = ["predict", "train"]

_PREDICTION_BATCH = 8192


def train(
    spec: ModelSpec,
    splits: Splits,
    config: TrainingConfig | None = None,
    progress: Callable[[TrainingProgress], None] | None = None,
    checkpoints: Checkpoints | None = None,
    share: float = 1.0,
) -> TrainingResult:
    """Train the model on `splits.train`, keep its best epoch by `splits.validation`, score it on `splits.test`.

    A `share` below 1 stops after that part of all steps and scores the model as it is then on the validation rows
    alone, with a `best_epoch` of 0; with `checkpoints` a later call carries it on, and ends as if it had never stopped.

    Raises:
        InputError: the splits do not have the features that the spec names, an id is out of range, a feature's table
            has no gradient, a feature of several ids per sample has one in the data, or the checkpoint that was found
            is of another training (says what differs).
        CorruptFileError: the checkpoint is no whole file.
        MeasurementError: the loss is no longer finite.
    """
    config = config or TrainingConfig()
    if not 0 < share <= 1:
        raise InputError(f"training: share must be in (0, 1], but got {share}")
    _check_trainable(spec)
    if config.device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"training.device: {config.device!r} is not on this machine")
    for part in (splits.train, splits.validation, splits.test):
        _check_part(spec, part)
    with _threads(config.threads):
        run = TrainingRun(spec, splits.train, config, progress)
        _fit(run, splits, checkpoints, share)
        best_epoch = int(np.argmin(run.losses)) + 1 if run.is_over else 0
        test = _score(run.model, splits.test) if best_epoch else NOT_SCORED
        validation = run.scores[best_epoch - 1] if best_epoch else _score(run.model, splits.validation)
        run.model.to("cpu")
        return TrainingResult(
            spec=spec,
            test=test,
            validation=validation,
            validation_log_losses=tuple(run.losses),
            epochs=len(run.losses),
            best_epoch=best_epoch,
            seconds=run.seconds,
            samples_per_s=run.samples / run.seconds,
            model=run.model,
        )


@torch.inference_mode()
def predict(model: RecommendationModel, dataset: Dataset) -> NDArray[np.float64]:
    """The probability of label 1 for every row, [N]; the model is left in evaluation mode.

    Meanwhile DHEs deduplicate and stream, which changes no result.
    """
    _check_part_ids(dataset, model.spec.features)
    model.eval()
    rows = TrainingRows(dataset, next(model.parameters()).device)
    begins = range(0, max(len(rows), 1), _PREDICTION_BATCH)
    batches = [slice(begin, begin + _PREDICTION_BATCH) for begin in begins]
    with least_work(model):
        logits_N = torch.cat([model(rows.dense(batch), rows.ids(batch)) for batch in batches])
    probabilities_N: NDArray[np.float64] = torch.sigmoid(logits_N.double()).cpu().numpy()
    return probabilities_N


def _fit(run: TrainingRun, splits: Splits, checkpoints: Checkpoints | None, share: float) -> None:
    """Epoch by epoch until patience or the share ends; the model of a whole run has the weights of the least loss."""
    keeper = _Keeper(run, splits, checkpoints)
    keeper.resume()
    last_step = run.steps if share == 1 else max(1, round(share * run.steps))
    while not run.is_over and run.step < last_step:
        run.begin_epoch()
        while run.has_batches and run.step < last_step:
            run.train_batch()
            keeper.save_if_due()
        if not run.has_batches:
            run.end_epoch(_score(run.model, splits.validation))
        keeper.save()
    if run.is_over and run.best_state:
        run.model.load_state_dict(run.best_state)


def _score(model: RecommendationModel, part: Dataset) -> Metrics:
    return score(part.labels_N, predict(model, part))


class _Keeper:
    """Saves a run where checkpoints are wanted, and restores one that is there."""

    def __init__(self, run: TrainingRun, splits: Splits, checkpoints: Checkpoints | None) -> None:
        self._run, self._checkpoints = run, checkpoints
        self._checkpoint = Checkpoint.of(run, splits) if checkpoints else None
        self._saved_s = time.monotonic()

    def resume(self) -> None:
        if self._checkpoints and self._checkpoint and self._checkpoints.path.exists():
            restore(self._run, self._checkpoint, self._checkpoints.path)

    def save_if_due(self) -> None:
        if self._checkpoints and time.monotonic() - self._saved_s >= self._checkpoints.every_seconds:
            self.save()

    def save(self) -> None:
        if self._checkpoints and self._checkpoint:
            save(self._run, self._checkpoint, self._checkpoints.path)
            self._saved_s = time.monotonic()


def _check_trainable(spec: ModelSpec) -> None:
    for feature, embedding in zip(spec.features, spec.embeddings, strict=True):
        table = embedding.table if isinstance(embedding, HybridSpec) else embedding
        if isinstance(table, TableSpec) and table.backend == "quantised":
            raise InputError(
                f"training: feature {feature.name!r}: a table of the back end 'quantised' has no gradient; "
                "train float32 rows and call quantise_model"
            )


def _check_part(spec: ModelSpec, part: Dataset) -> None:
    wanted, got = [f.name for f in spec.features], [f.name for f in part.all_features]
    if wanted != got:
        raise InputError(f"training: the model's features are {wanted}, but those of {part.name!r} are {got}")
    if spec.dense_features not in (0, len(part.dense_names)):
        raise InputError(
            f"training: the model has {spec.dense_features} dense features, but {part.name!r} has {part.dense_names}"
        )
    for feature in spec.features[: len(part.features)]:
        if feature.pooling != 1:
            raise InputError(
                f"training: feature {feature.name!r}: pooling must be 1, as samples of {part.name!r} have one id each, "
                f"but got {feature.pooling:g}"
            )
    _check_part_ids(part, spec.features)


def _check_part_ids(part: Dataset, features: Sequence[Feature]) -> None:
    one_hot = len(features) - len(part.bags)
    check_ids(part.ids_NS, features[:one_hot])
    for column, feature in zip(part.bags, features[one_hot:], strict=True):
        check_bags(column.ids_L, column.offsets_N, feature)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
