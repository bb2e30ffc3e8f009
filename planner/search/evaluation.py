"""What the search asks of others: a candidate's predicted costs, and its trained accuracy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol, runtime_checkable

from profiles.errors import InputError
from representations.specs import ModelSpec

__all__ = [
    "Predicted",
    "Predictor",
    "RungStep",
    "RungTrainer",
    "Trained",
    "Trainer",
    "check_rungs",
    "rungs_of",
    "train_step",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """What a candidate costs before anyone has trained it; `latency_ms` is of one query, by device name.

    `costs` are all that the search asks for, by name and where the candidate is judged; they may be left out where they
    are no more than these.
    """

    latency_ms: Mapping[str, float]
    parameter_bytes: int
    flops: float
    costs: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        latencies = {str(device): float(value) for device, value in self.latency_ms.items()}
        object.__setattr__(self, "latency_ms", latencies)
        numbers = {f"latency_ms[{device}]": value for device, value in latencies.items()}
        numbers |= {"parameter_bytes": self.parameter_bytes, "flops": self.flops, **self.costs}
        for name, value in numbers.items():
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"predicted {name}: must be finite and >= 0, but got {value}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Trained:
    """What training gave: metrics on the validation rows, by which the search judges, and the `seconds` it took.

    `test` holds the same metrics on rows that no choice may look at: they are only reported.
    """

    auc: float
    log_loss: float
    accuracy: float
    seconds: float
    test: Mapping[str, float] = field(default_factory=dict)


class Predictor(Protocol):
    """Called for every candidate that is considered, so it should take milliseconds."""

    def __call__(self, spec: ModelSpec, /) -> Predicted:
        """The predicted costs of `spec`."""
        ...


class Trainer(Protocol):
    """Called once for every candidate that meets the constraints; picklable where trials run on Ray."""

    def __call__(self, spec: ModelSpec, seed: int, /) -> Trained:
        """Train `spec` from `seed` and judge it on rows that it was not trained on."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RungStep:
    """A part of a training: up to `rung`, carrying on from rung `after` (None: from the beginning)."""

    rung: int
    after: int | None = None

    def __post_init__(self) -> None:
        before = -1 if self.after is None else self.after
        if not -1 <= before < self.rung or self.after == -1:
            raise InputError(f"rung: must be >= 0 and beyond the one before, but got {self.rung} after {self.after}")


@runtime_checkable
class RungTrainer(Trainer, Protocol):
    """A trainer that can stop a training early, judge the model as it is then, and carry it on later.

    A table of finished trainings can stand in for one: all state of a training is `spec`, `seed` and the step.
    """

    @property
    def rungs(self) -> tuple[float, ...]:
        """Where trainings may stop, as shares of a whole one: rising, above 0, the last 1."""
        ...

    def train_rung(self, spec: ModelSpec, seed: int, step: RungStep, /) -> Trained:
        """Carry the training on to `rungs[step.rung]`; `seconds` are of this step alone.

        What rung `step.after` left may be lost (another machine, a file removed): then train from the beginning.
        """
        ...


def check_rungs(rungs: tuple[float, ...]) -> None:
    """Raise an InputError unless these are shares of a training that rise to 1."""
    if not rungs or rungs[-1] != 1 or rungs[0] <= 0 or any(a >= b for a, b in pairwise(rungs)):
        raise InputError(f"rungs: must rise from above 0 to 1, but got {list(rungs)}")


def rungs_of(train: Trainer) -> tuple[float, ...]:
    """Where the trainer may stop; (1,) for one that only trains to the end."""
    rungs = train.rungs if isinstance(train, RungTrainer) else (1.0,)
    check_rungs(rungs)
    return rungs


def train_step(train: Trainer, spec: ModelSpec, seed: int, step: RungStep | None) -> Trained:
    """One step of a training, or all of it where `step` is None."""
    if step is None:
        return train(spec, seed)
    if not isinstance(train, RungTrainer):
        raise InputError(f"trainer: has no rungs, but got {step}")
    return train.train_rung(spec, seed, step)
