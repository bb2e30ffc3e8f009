"""What the search asks of others: a candidate's predicted costs, and its trained accuracy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from profiles.errors import InputError
from representations.specs import ModelSpec

__all__ = ["Predicted", "Predictor", "Trained", "Trainer"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """What a candidate costs before anyone has trained it; `latency_ms` is of one query, by device name."""

    latency_ms: Mapping[str, float]
    parameter_bytes: int
    flops: float

    def __post_init__(self) -> None:
        latencies = {str(device): float(value) for device, value in self.latency_ms.items()}
        object.__setattr__(self, "latency_ms", latencies)
        numbers = {f"latency_ms[{device}]": value for device, value in latencies.items()}
        for name, value in {**numbers, "parameter_bytes": self.parameter_bytes, "flops": self.flops}.items():
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"predicted {name}: must be finite and >= 0, but got {value}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Trained:
    """What training gave: metrics on the validation rows, by which the search judges, and `seconds` of wall time.

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
