"""How a model is trained, what is told while it is, and what comes out: plain data, without torch."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from profiles.errors import InputError
from representations.metrics import Metrics
from representations.specs import ModelSpec
from representations.specs.sizes import require_integer, require_number

if TYPE_CHECKING:
    from representations.model import RecommendationModel

__all__ = ["Checkpoints", "DenseOptimizer", "Precision", "TrainingConfig", "TrainingProgress", "TrainingResult"]

_DEVICE = re.compile(r"cpu|cuda(:\d+)?")
DenseOptimizer = Literal["adam", "sgd"]
Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """Adam or SGD with `learning_rate` for dense weights, row-wise Adagrad with `table_learning_rate` for tables.

    The dense rate falls linearly to zero over all steps; Adagrad's slows by itself. Training stops after `patience`
    epochs without a better validation log loss, and the best epoch's weights are kept. `unknown_share` of all ids is
    replaced by 0 while training, at random, so that id 0 (missing, unseen) is learned. `maximum_rows` trains on the
    latest rows only. With `precision` bfloat16, matrix products run in it (autocast) while weights stay float32.
    `threads` is torch's thread count meanwhile; with 1, equal seeds give equal results on the CPU. `device` is torch's
    name of where the model trains (`cpu`, `cuda`, `cuda:1`); rows stay in main memory and go there batch by batch.
    """

    epochs: int = 2
    batch_size: int = 2048
    learning_rate: float = 5e-3
    table_learning_rate: float = 0.2
    unknown_share: float = 0.01
    patience: int = 1
    seed: int = 0
    threads: int = 1
    maximum_rows: int | None = None
    dense_optimizer: DenseOptimizer = "adam"
    precision: Precision = "float32"
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, known in (("dense_optimizer", get_args(DenseOptimizer)), ("precision", get_args(Precision))):
            if getattr(self, name) not in known:
                raise InputError(f"training.{name}: must be one of {known}, but got {getattr(self, name)!r}")
        if not _DEVICE.fullmatch(self.device):
            raise InputError(f"training.device: must be cpu, cuda or cuda:N, but got {self.device!r}")
        for name in ("epochs", "batch_size", "patience", "threads", "maximum_rows"):
            if name != "maximum_rows" or self.maximum_rows is not None:
                require_integer(f"training.{name}:", getattr(self, name), minimum=1)
        for name in ("learning_rate", "table_learning_rate", "unknown_share"):
            require_number(f"training.{name}:", getattr(self, name))
        for name in ("learning_rate", "table_learning_rate"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InputError(f"training.{name}: must be finite and > 0, but got {getattr(self, name)}")
        if not 0 <= self.unknown_share < 1:
            raise InputError(f"training.unknown_share: must be in [0, 1), but got {self.unknown_share}")
        require_integer("training.seed:", self.seed, minimum=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoints:
    """Where a training's state is kept, and how often: a training that finds the file goes on from there.

    On one thread it then ends with the very result of an uninterrupted one.
    """

    path: Path
    every_seconds: float = 60.0

    def __post_init__(self) -> None:
        require_number("checkpoints.every_seconds:", self.every_seconds)
        if not self.every_seconds >= 0:
            raise InputError(f"checkpoints.every_seconds: must be >= 0, but got {self.every_seconds}")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingProgress:
    """Where training is after a step; `loss` is the batch's mean log loss."""

    epoch: int
    step: int
    steps: int
    loss: float
    samples_per_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingResult:
    """A trained model, its metrics on the test rows, and those on the validation rows that chose its epoch.

    `epochs` counts those run, `best_epoch` (from 1) is whose weights `model` has; 0 says that the training was stopped
    early: the model is that of that moment, and no test row was looked at (its metrics are NaN). `seconds` and
    `samples_per_s` are of the training steps alone, without validation and test; a process's first step loads or
    compiles kernels, so that few steps seem slow. `model` is on the CPU.
    """

    spec: ModelSpec
    test: Metrics
    validation: Metrics
    validation_log_losses: tuple[float, ...]
    epochs: int
    best_epoch: int
    seconds: float
    samples_per_s: float
    model: "RecommendationModel"

    @property
    def auc(self) -> float:
        """Area under the ROC curve on the test rows."""
        return self.test.auc

    @property
    def log_loss(self) -> float:
        """Mean log loss on the test rows."""
        return self.test.log_loss

    @property
    def accuracy(self) -> float:
        """Share of test rows predicted right at 0.5."""
        return self.test.accuracy
