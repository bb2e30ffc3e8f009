"""Objectives and constraints: what a candidate is judged by, before and after training.

Values are numbers, or arrays of one number for each candidate.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.search.evaluation import Predicted
from planner.study import OBJECTIVES
from profiles.errors import UnknownNameError

__all__ = [
    "METRICS",
    "directions",
    "format_cost",
    "infeasible_reason",
    "is_broken",
    "objective_costs",
    "predicted_costs",
    "violations",
]

# Known only after training.
METRICS = ("auc", "log_loss", "accuracy")
# A rate of which more is better, compared as the time of one.
_RATES = ("capacity_qps",)
Values = TypeVar("Values", float, NDArray[np.float64])


def directions(objectives: Sequence[str]) -> list[Literal["maximize", "minimize"]]:
    """`maximize` or `minimize` for each objective."""
    return ["maximize" if OBJECTIVES[name] else "minimize" for name in objectives]


def objective_costs(values: Mapping[str, Values], objectives: Sequence[str]) -> list[Values]:
    """The objectives' values so that less is better in all: those that should be high negated, a rate as its inverse.

    The inverse of no capacity at all is infinite.
    """
    return [_cost(name, values[name]) for name in objectives]


def predicted_costs(predicted: Predicted, device: str) -> dict[str, float]:
    """The values that constraints may limit, by name."""
    if device not in predicted.latency_ms:
        raise UnknownNameError("search: latency device", device, predicted.latency_ms)
    return {
        "latency_ms": predicted.latency_ms[device],
        "parameter_bytes": float(predicted.parameter_bytes),
        "flops": float(predicted.flops),
        **predicted.costs,
    }


def violations(costs: Mapping[str, Values], limits: Mapping[str, float]) -> dict[str, Values]:
    """By how much of its limit each constrained cost exceeds it; a constraint holds at 0 and below.

    What should be high falls short of its limit instead.
    """
    return {
        name: 1 - costs[name] / limit if OBJECTIVES.get(name) else costs[name] / limit - 1
        for name, limit in limits.items()
    }


def is_broken(name: str, value: float, limit: float) -> bool:
    """Whether a value breaks its limit, which is a lower one where more is better."""
    return value < limit if OBJECTIVES.get(name) else value > limit


def infeasible_reason(costs: Mapping[str, float], limits: Mapping[str, float]) -> str:
    """The limits that are broken, in words; empty where none is."""
    broken = [
        f"{name} {format_cost(costs[name])} {'<' if OBJECTIVES.get(name) else '>'} {format_cost(limit)}"
        for name, limit in limits.items()
        if is_broken(name, costs[name], limit)
    ]
    return f"{', '.join(broken)} (predicted)" if broken else ""


def format_cost(value: float) -> str:
    """A cost as messages show it."""
    return f"{value:,.0f}" if abs(value) >= 1000 and math.isfinite(value) else f"{value:.6g}"


def _cost(name: str, value: Any) -> Any:
    if name not in _RATES:
        return -value if OBJECTIVES[name] else value
    if isinstance(value, np.ndarray):
        return np.divide(1.0, value, out=np.full(len(value), np.inf), where=value > 0)
    return 1 / value if value > 0 else math.inf
