"""The state of one training, step by step.

Shape suffixes: N samples, B samples of a batch.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from profiles.errors import MeasurementError
from representations.build import build_model
from representations.datasets.dataset import Dataset
from representations.dhe.embedding import set_deduplication
from representations.metrics import Metrics
from representations.model import RecommendationModel
from representations.optimizer import RowWiseAdagrad
from representations.reduced_table import keep_frequent
from representations.specs import ModelSpec
from representations.training_config import TrainingConfig, TrainingProgress
from representations.training_rows import TrainingRows

__all__ = ["TrainingRun"]

Tensors = dict[str, Tensor]
# Between epochs.
_NO_ORDER = torch.empty(0, dtype=torch.int64)
_OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}


class TrainingRun:
    """A model, its optimizers, the order of rows, and how far it has come.

    `scores` has the validation metrics of every finished epoch, `best_state` the weights of the best one unless these
    are the model's own.
    """

    def __init__(
        self,
        spec: ModelSpec,
        rows: Dataset,
        config: TrainingConfig,
        progress: Callable[[TrainingProgress], None] | None = None,
    ) -> None:
        latest = rows.take(slice(-config.maximum_rows, None)) if config.maximum_rows else rows
        self._device = torch.device(config.device)
        self._rows = TrainingRows(latest, self._device)
        self.model = build_model(spec, config.seed)
        keep_frequent(self.model, latest)
        self.model.to(self._device)
        self.config, self._progress = config, progress
        self._generator = torch.Generator().manual_seed(config.seed)
        self._dense_optimizer, self._table_optimizer = _optimizers(self.model, config)
        self._order_N = _NO_ORDER
        self._place = 0
        self.steps = config.epochs * -(-len(latest) // config.batch_size)
        self.step, self.samples, self.seconds = 0, 0, 0.0
        self.scores: list[Metrics] = []
        self.best_state: Tensors = {}

    @property
    def losses(self) -> list[float]:
        """Validation log loss of every finished epoch."""
        return [score.log_loss for score in self.scores]

    @property
    def is_over(self) -> bool:
        """Whether all epochs were run, or patience has ended."""
        return len(self.scores) >= self.config.epochs or self._waited >= self.config.patience

    @property
    def has_batches(self) -> bool:
        """Whether rows of the epoch that was begun are left."""
        return self._place < len(self._order_N)

    @property
    def _waited(self) -> int:
        return len(self.scores) - 1 - int(np.argmin(self.losses)) if self.scores else 0

    def begin_epoch(self) -> None:
        """Draw an order of all rows, unless an epoch is under way."""
        if self._order_N is _NO_ORDER:
            self._order_N, self._place = torch.randperm(len(self._rows), generator=self._generator), 0

    def drop_order(self) -> None:
        """Leave the epoch that is under way, without a score."""
        self._order_N, self._place = _NO_ORDER, 0

    def train_batch(self) -> None:
        """One step on the next rows.

        Raises:
            MeasurementError: the loss is not finite.
        """
        self.model.train()
        set_deduplication(self.model, enabled=True)
        rows_B = self._order_N[self._place : self._place + self.config.batch_size]
        begin_s = time.perf_counter()
        loss = self._update(rows_B)
        self.seconds += time.perf_counter() - begin_s
        self.samples += len(rows_B)
        self._place += len(rows_B)
        self._tell(loss)

    def end_epoch(self, score: Metrics) -> None:
        """Take the metrics of an epoch whose rows are used up, and keep its weights where they are the best."""
        self.drop_order()
        self.scores.append(score)
        if self._waited == 0 and len(self.scores) < self.config.epochs:
            self.best_state = {name: value.clone() for name, value in self.model.state_dict().items()}
        elif self._waited == 0:
            self.best_state = {}

    def tensors(self) -> Tensors:
        """All tensors that a later run needs, by name."""
        found = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        found |= {f"best.{name}": value for name, value in self.best_state.items()}
        for stem, optimizer in self._optimizers.items():
            for place, state in optimizer.state_dict()["state"].items():
                found |= {f"{stem}.{place}.{name}": value for name, value in state.items() if value is not None}
        found |= {"generator": self._generator.get_state(), "torch_generator": torch.get_rng_state()}
        return found if self._order_N is _NO_ORDER else found | {"order": self._order_N}

    def restore(self, tensors: Tensors, progress: Mapping[str, Any]) -> None:
        """Take what `tensors` and `progress` of another run gave."""
        self.model.load_state_dict(_below("model", tensors))
        self.best_state = _below("best", tensors)
        for stem, optimizer in self._optimizers.items():
            states: dict[int, dict[str, Tensor]] = {}
            for name, value in _below(stem, tensors).items():
                place, _, key = name.partition(".")
                states.setdefault(int(place), {})[key] = value
            optimizer.load_state_dict({**optimizer.state_dict(), "state": states})
        self._generator.set_state(tensors["generator"])
        torch.set_rng_state(tensors["torch_generator"])
        self._order_N, self._place = tensors.get("order", _NO_ORDER), int(progress["place"])
        self.step, self.samples = int(progress["step"]), int(progress["samples"])
        self.seconds = float(progress["seconds"])
        self.scores = [Metrics(**score) for score in progress["scores"]]

    def progress(self) -> dict[str, Any]:
        """How far the run has come, JSON-ready."""
        scores = [{"auc": s.auc, "log_loss": s.log_loss, "accuracy": s.accuracy} for s in self.scores]
        counts = {"place": self._place, "step": self.step, "samples": self.samples, "seconds": self.seconds}
        return {**counts, "scores": scores}

    @property
    def _optimizers(self) -> Mapping[str, torch.optim.Optimizer]:
        found: dict[str, torch.optim.Optimizer] = {"dense": self._dense_optimizer}
        return found if self._table_optimizer is None else found | {"table": self._table_optimizer}

    def _update(self, rows_B: Tensor) -> float:
        self._dense_optimizer.param_groups[0]["lr"] = self.config.learning_rate * (1 - self.step / self.steps)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"):
            logits_B = self.model(self._rows.dense(rows_B), self._rows.ids(rows_B, self._masked))
        loss = binary_cross_entropy_with_logits(logits_B.float(), self._rows.labels(rows_B))
        self._dense_optimizer.zero_grad()
        torch.autograd.backward(loss)
        self._dense_optimizer.step()
        if self._table_optimizer is not None:
            self._table_optimizer.step()
            self._table_optimizer.zero_grad()
        self.step += 1
        return loss.item()

    def _masked(self, ids: Tensor) -> Tensor:
        """The ids, a few of them 0, so that what stands for an unseen value has learned from every feature."""
        if not self.config.unknown_share:
            return ids
        return ids * (torch.rand(ids.shape, generator=self._generator) >= self.config.unknown_share)

    def _tell(self, loss: float) -> None:
        if not np.isfinite(loss):
            raise MeasurementError(f"training of {self.model.spec.name!r}: the loss is {loss} at step {self.step}")
        if self._progress is not None:
            self._progress(
                TrainingProgress(
                    epoch=len(self.scores) + 1,
                    step=self.step,
                    steps=self.steps,
                    loss=loss,
                    samples_per_s=self.samples / self.seconds,
                )
            )


def _optimizers(
    model: RecommendationModel, config: TrainingConfig
) -> tuple[torch.optim.Optimizer, RowWiseAdagrad | None]:
    tables = [weight for module in model.modules() if (weight := _made_sparse(module)) is not None]
    of_tables = {id(weight) for weight in tables}
    dense = [parameter for parameter in model.parameters() if id(parameter) not in of_tables]
    adagrad = RowWiseAdagrad(tables, learning_rate=config.table_learning_rate) if tables else None
    return _OPTIMIZERS[config.dense_optimizer](dense, lr=config.learning_rate), adagrad


def _made_sparse(module: nn.Module) -> nn.Parameter | None:
    """The rows of a module that looks some of them up, whatever its back end, with gradients of these alone."""
    weight = module.__dict__.get("_parameters", {}).get("weight")
    if not isinstance(getattr(module, "sparse", None), bool) or weight is None or weight.ndim != 2:
        return None
    module.sparse = True  # type: ignore[assignment]  # a plain attribute of all such modules
    return cast("nn.Parameter", weight)


def _below(stem: str, tensors: Tensors) -> Tensors:
    return {name.removeprefix(f"{stem}."): value for name, value in tensors.items() if name.startswith(f"{stem}.")}
