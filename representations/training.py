"""One training loop for every representation.

Shape suffixes: N samples, B samples of a batch, F dense features, S categorical features.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from profiles.errors import InputError, MeasurementError
from representations.build import build_model
from representations.datasets.dataset import Dataset
from representations.datasets.splits import Splits
from representations.dhe.embedding import set_deduplication
from representations.dlrm import Dlrm
from representations.ids import check_ids
from representations.metrics import Metrics, score
from representations.optimizer import RowWiseAdagrad
from representations.specs import ModelSpec
from representations.table import EmbeddingTable
from representations.training_config import TrainingConfig, TrainingProgress, TrainingResult

__all__ = ["predict", "train"]

_PREDICTION_BATCH = 8192


def train(
    spec: ModelSpec,
    splits: Splits,
    config: TrainingConfig | None = None,
    progress: Callable[[TrainingProgress], None] | None = None,
) -> TrainingResult:
    """Train the model on `splits.train`, keep its best epoch by `splits.validation`, score it on `splits.test`.

    Raises:
        InputError: the splits do not have the features that the spec names, or an id is out of range.
        MeasurementError: the loss is no longer finite.
    """
    config = config or TrainingConfig()
    for part in (splits.train, splits.validation, splits.test):
        _check_part(spec, part)
    with _threads(config.threads):
        run = _Run(spec, splits.train, config, progress)
        scores = _fit(run, splits.validation, config)
        losses = [epoch.log_loss for epoch in scores]
        best_epoch = int(np.argmin(losses)) + 1
        return TrainingResult(
            spec=spec,
            test=score(splits.test.labels_N, predict(run.model, splits.test)),
            validation=scores[best_epoch - 1],
            validation_log_losses=tuple(losses),
            epochs=len(losses),
            best_epoch=best_epoch,
            seconds=run.seconds,
            samples_per_s=run.samples / run.seconds,
            model=run.model,
        )


@torch.inference_mode()
def predict(model: Dlrm, dataset: Dataset) -> NDArray[np.float64]:
    """The probability of label 1 for every row, [N]; the model is left in evaluation mode."""
    check_ids(dataset.ids_NS, model.spec.features)
    model.eval()
    set_deduplication(model, enabled=True)
    dense_NF, ids_NS, _ = _tensors(dataset)
    batches = zip(torch.split(dense_NF, _PREDICTION_BATCH), torch.split(ids_NS, _PREDICTION_BATCH), strict=True)
    logits_N = torch.cat([model(dense_BF, ids_BS) for dense_BF, ids_BS in batches])
    set_deduplication(model, enabled=False)
    probabilities_N: NDArray[np.float64] = torch.sigmoid(logits_N.double()).numpy()
    return probabilities_N


def _fit(run: "_Run", validation: Dataset, config: TrainingConfig) -> list[Metrics]:
    """The validation metrics of each epoch that was run; the model has the weights of the one with the least loss."""
    scores: list[Metrics] = []
    losses: list[float] = []
    best_state: dict[str, Tensor] = {}
    while len(losses) < config.epochs:
        run.epoch(len(losses) + 1)
        scores.append(score(validation.labels_N, predict(run.model, validation)))
        losses.append(scores[-1].log_loss)
        waited = len(losses) - 1 - int(np.argmin(losses))
        if waited >= config.patience:
            break
        if waited == 0 and len(losses) < config.epochs:
            best_state = {name: value.clone() for name, value in run.model.state_dict().items()}
    if waited > 0:
        run.model.load_state_dict(best_state)
    return scores


class _Run:
    """The state of one training: model, optimizers, order of rows, time used."""

    def __init__(
        self,
        spec: ModelSpec,
        rows: Dataset,
        config: TrainingConfig,
        progress: Callable[[TrainingProgress], None] | None,
    ) -> None:
        latest = rows.take(slice(-config.maximum_rows, None)) if config.maximum_rows else rows
        self.dense_NF, self.ids_NS, self.labels_N = _tensors(latest)
        self.model = build_model(spec, config.seed)
        self.config, self.progress = config, progress
        self.generator = torch.Generator().manual_seed(config.seed)
        self.adam, self.adagrad = _optimizers(self.model, config)
        self.steps = config.epochs * -(-len(latest) // config.batch_size)
        self.step, self.samples, self.seconds = 0, 0, 0.0

    def epoch(self, number: int) -> None:
        """All rows once, in an order drawn anew."""
        self.model.train()
        set_deduplication(self.model, enabled=True)
        order_N = torch.randperm(len(self.labels_N), generator=self.generator)
        for rows_B in torch.split(order_N, self.config.batch_size):
            begin_s = time.perf_counter()
            loss = self._update(rows_B)
            self.seconds += time.perf_counter() - begin_s
            self.samples += len(rows_B)
            self._tell(number, loss)

    def _update(self, rows_B: Tensor) -> float:
        self.adam.param_groups[0]["lr"] = self.config.learning_rate * (1 - self.step / self.steps)
        logits_B = self.model(self.dense_NF[rows_B], self._masked(self.ids_NS[rows_B]))
        loss = binary_cross_entropy_with_logits(logits_B, self.labels_N[rows_B])
        self.adam.zero_grad()
        torch.autograd.backward(loss)
        self.adam.step()
        if self.adagrad is not None:
            self.adagrad.step()
            self.adagrad.zero_grad()
        self.step += 1
        return loss.item()

    def _masked(self, ids_BS: Tensor) -> Tensor:
        """The ids, a few of them 0, so that what stands for an unseen value has learned from every feature."""
        if not self.config.unknown_share:
            return ids_BS
        return ids_BS * (torch.rand(ids_BS.shape, generator=self.generator) >= self.config.unknown_share)

    def _tell(self, epoch: int, loss: float) -> None:
        if not np.isfinite(loss):
            raise MeasurementError(f"training of {self.model.spec.name!r}: the loss is {loss} at step {self.step}")
        if self.progress is not None:
            self.progress(
                TrainingProgress(
                    epoch=epoch,
                    step=self.step,
                    steps=self.steps,
                    loss=loss,
                    samples_per_s=self.samples / self.seconds,
                )
            )


def _optimizers(model: Dlrm, config: TrainingConfig) -> tuple[torch.optim.Adam, RowWiseAdagrad | None]:
    tables = [module for module in model.modules() if isinstance(module, EmbeddingTable)]
    for table in tables:
        table.sparse = True
    of_tables = {id(table.weight) for table in tables}
    dense = [parameter for parameter in model.parameters() if id(parameter) not in of_tables]
    adagrad = RowWiseAdagrad((t.weight for t in tables), learning_rate=config.table_learning_rate) if tables else None
    return torch.optim.Adam(dense, lr=config.learning_rate), adagrad


def _check_part(spec: ModelSpec, part: Dataset) -> None:
    wanted, got = [f.name for f in spec.features], [f.name for f in part.features]
    if wanted != got:
        raise InputError(f"training: the model's features are {wanted}, but those of {part.name!r} are {got}")
    if spec.dense_features not in (0, len(part.dense_names)):
        raise InputError(
            f"training: the model has {spec.dense_features} dense features, but {part.name!r} has {part.dense_names}"
        )
    check_ids(part.ids_NS, spec.features)


def _tensors(dataset: Dataset) -> tuple[Tensor, Tensor, Tensor]:
    arrays = (dataset.dense_NF, dataset.ids_NS, dataset.labels_N)
    dense_NF, ids_NS, labels_N = (torch.from_numpy(np.ascontiguousarray(array)) for array in arrays)
    return dense_NF, ids_NS, labels_N


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
