"""`[search]`: the objectives, the constraints and the budget."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Literal

from planner.study.space import SpaceSection
from profiles.edge import STRICT
from profiles.errors import InputError, UnknownNameError
from profiles.units import parse_bytes

__all__ = ["OBJECTIVES", "SearchMethod", "SearchSection", "SpaceSection", "TrainingSection"]

# Name -> whether more is better.
OBJECTIVES: Mapping[str, bool] = {
    "accuracy": True,
    "auc": True,
    "capacity_qps": True,
    "cost_per_million": False,
    "energy_j": False,
    "flops": False,
    "latency_ms": False,
    "latency_p50_ms": False,
    "latency_p99_ms": False,
    "log_loss": False,
    "parameter_bytes": False,
    "peak_memory_bytes": False,
}
# What is known before training.
CONSTRAINTS = tuple(name for name in OBJECTIVES if name not in ("accuracy", "auc", "log_loss"))


SearchMethod = Literal["guided", "tpe", "nsga2"]


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
    """Objectives, limits on what a candidate may cost (at least so much capacity), and how many trials are made.

    `latency_ms` is the predicted latency of one query of `latency_batch` samples (the workload's mean query size by
    default) on `latency_device` (the study's first device by default).

    How it is searched: `method` `guided` trains what is expected to gain most hypervolume for its training time, `tpe`
    and `nsga2` are Optuna's samplers. A guided search stops trainings at `rungs`, shares of a training, and carries the
    promising ones on; then `trials` are whole trainings' worth. `hours` of training end it before its trials do.
    Members of the front are trained from `finalist_seeds` seeds, so that noise is not taken for a win.
    """

    __pydantic_config__: ClassVar = STRICT
    trials: int = 24
    objectives: tuple[str, ...] = ("auc", "latency_ms", "parameter_bytes")
    constraints: dict[str, float | str] = field(default_factory=dict)
    latency_device: str | None = None
    latency_batch: int | None = None
    space: SpaceSection = field(default_factory=SpaceSection)
    training: TrainingSection = field(default_factory=TrainingSection)
    method: SearchMethod = "guided"
    rungs: tuple[float, ...] = ()
    hours: float | None = None
    finalist_seeds: int = 1
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
        limits = {name: _limit(name, value) for name, value in self.constraints.items()}
        if any(a >= b for a, b in pairwise((0.0, *self.rungs, 1.0))):
            raise InputError(f"rungs: must rise between 0 and 1, both left out, but got {list(self.rungs)}")
        if self.hours is not None and not 0 < self.hours < math.inf:
            raise InputError(f"hours: must be finite and > 0, but got {self.hours}")
        if self.finalist_seeds < 1:
            raise InputError(f"finalist_seeds: must be >= 1, but got {self.finalist_seeds}")
        # Where candidates choose their device, it has to hold their parameters.
        object.__setattr__(self, "limits", limits | ({"memory_share": 1.0} if self.space.device else {}))


def _limit(name: str, value: float | str) -> float:
    if name not in CONSTRAINTS:
        raise UnknownNameError("constraints", name, CONSTRAINTS)
    try:
        limit = float(parse_bytes(value) if name.endswith("_bytes") else value)
    except InputError as error:
        raise InputError(f"constraints.{name}: {error}") from None
    except ValueError:
        raise InputError(f"constraints.{name}: must be a number, but got {value!r}") from None
    if not 0 < limit < math.inf:
        raise InputError(f"constraints.{name}: must be finite and > 0, but got {value!r}")
    return limit
