"""`[search]`: the space, the objectives and the budget."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar

from profiles.edge import STRICT
from profiles.errors import InputError, UnknownNameError
from profiles.units import parse_bytes
from representations.assignment import Representation

__all__ = ["OBJECTIVES", "SearchSection", "SpaceSection", "TrainingSection"]

# Name -> whether more is better.
OBJECTIVES: Mapping[str, bool] = {
    "accuracy": True,
    "auc": True,
    "flops": False,
    "latency_ms": False,
    "log_loss": False,
    "parameter_bytes": False,
}
CONSTRAINTS = ("flops", "latency_ms", "parameter_bytes")


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceSection:
    """The choices of a candidate; each is drawn only where it matters (a table has no `dhe_k`).

    `select_largest`: under `select`, how many of the features with the most ids are DHE (MP-Rec's characterisation
    takes 3); the others stay tables. `qr_collisions`, `tt_rank` and `robe_compression` are those of the compressed
    representations `quotient-remainder`, `tensor-train` and `robe`.
    """

    __pydantic_config__: ClassVar = STRICT
    representation: tuple[Representation, ...] = ("table", "dhe", "select", "hybrid")
    dim: tuple[int, ...] = (4, 8, 16)
    dhe_k: tuple[int, ...] = (16, 64, 256)
    dhe_width: tuple[int, ...] = (32, 64)
    dhe_depth: tuple[int, ...] = (1,)
    select_largest: tuple[int, ...] = (3,)
    qr_collisions: tuple[int, ...] = (4,)
    tt_rank: tuple[int, ...] = (16,)
    robe_compression: tuple[int, ...] = (10,)

    def __post_init__(self) -> None:
        for name in (one.name for one in fields(self)):
            choices = getattr(self, name)
            if not choices:
                raise InputError(f"{name}: must offer at least one choice")
            if len(set(choices)) < len(choices):
                raise InputError(f"{name}: each choice once, but got {list(choices)}")
            if name != "representation" and min(choices) < 1:
                raise InputError(f"{name}: must be >= 1, but got {list(choices)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSection:
    """The training budget of one trial; early stopping watches the validation log loss."""

    __pydantic_config__: ClassVar = STRICT
    epochs: int = 2
    batch_size: int = 2048
    rows: int | None = None
    learning_rate: float | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "rows"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name}: must be >= 1, but got {value}")
        if self.learning_rate is not None and not 0 < self.learning_rate < math.inf:
            raise InputError(f"learning_rate: must be finite and > 0, but got {self.learning_rate}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSection:
    """Objectives, upper limits on what a candidate may cost, and how many trials are made.

    `latency_ms` is the predicted latency of one query of `latency_batch` samples (the workload's mean query size by
    default) on `latency_device` (the study's first device by default).
    """

    __pydantic_config__: ClassVar = STRICT
    trials: int = 24
    objectives: tuple[str, ...] = ("auc", "latency_ms", "parameter_bytes")
    constraints: dict[str, float | str] = field(default_factory=dict)
    latency_device: str | None = None
    latency_batch: int | None = None
    space: SpaceSection = field(default_factory=SpaceSection)
    training: TrainingSection = field(default_factory=TrainingSection)
    limits: Mapping[str, float] = field(init=False)

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise InputError(f"trials: must be >= 1, but got {self.trials}")
        if not self.objectives or len(set(self.objectives)) < len(self.objectives):
            raise InputError(f"objectives: must be one or more, each once, but got {list(self.objectives)}")
        for name in self.objectives:
            if name not in OBJECTIVES:
                raise UnknownNameError("objectives", name, OBJECTIVES)
        if self.latency_batch is not None and self.latency_batch < 1:
            raise InputError(f"latency_batch: must be >= 1, but got {self.latency_batch}")
        object.__setattr__(self, "limits", {name: _limit(name, value) for name, value in self.constraints.items()})


def _limit(name: str, value: float | str) -> float:
    if name not in CONSTRAINTS:
        raise UnknownNameError("constraints", name, CONSTRAINTS)
    try:
        limit = float(parse_bytes(value) if name == "parameter_bytes" else value)
    except InputError as error:
        raise InputError(f"constraints.{name}: {error}") from None
    except ValueError:
        raise InputError(f"constraints.{name}: must be a number, but got {value!r}") from None
    if not 0 < limit < math.inf:
        raise InputError(f"constraints.{name}: must be finite and > 0, but got {value!r}")
    return limit
