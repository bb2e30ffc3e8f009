"""Objectives and constraints: what a candidate is judged by, before and after training."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from planner.search.evaluation import Predicted
from planner.study import OBJECTIVES
from profiles.errors import UnknownNameError

__all__ = [
    "METRICS",
    "directions",
    "format_cost",
    "infeasible_reason",
    "objective_costs",
    "predicted_costs",
    "violations",
]

# Known only after training.
METRICS = ("auc", "log_loss", "accuracy")


def directions(objectives: Sequence[str]) -> list[Literal["maximize", "minimize"]]:
    """`maximize` or `minimize` for each objective."""
    return ["maximize" if OBJECTIVES[name] else "minimize" for name in objectives]


def objective_costs(values: Mapping[str, float], objectives: Sequence[str]) -> list[float]:
    """The objectives' values with those that should be high negated, so that less is better in all."""
    return [-values[name] if OBJECTIVES[name] else values[name] for name in objectives]


def predicted_costs(predicted: Predicted, device: str) -> dict[str, float]:
    """The values that constraints may limit, by name."""
    if device not in predicted.latency_ms:
        raise UnknownNameError("search: latency device", device, predicted.latency_ms)
    return {
        "latency_ms": predicted.latency_ms[device],
        "parameter_bytes": float(predicted.parameter_bytes),
        "flops": float(predicted.flops),
    }


def violations(costs: Mapping[str, float], limits: Mapping[str, float]) -> dict[str, float]:
    """By how much of its limit each constrained cost exceeds it; a constraint holds at 0 and below."""
    return {name: costs[name] / limit - 1 for name, limit in limits.items()}


def infeasible_reason(costs: Mapping[str, float], limits: Mapping[str, float]) -> str:
    """The limits that are broken, in words; empty where none is."""
    broken = [
        f"{name} {format_cost(costs[name])} > {format_cost(limit)}"
        for name, limit in limits.items()
        if costs[name] > limit
    ]
    return f"{', '.join(broken)} (predicted)" if broken else ""


def format_cost(value: float) -> str:
    """A cost as messages show it."""
    return f"{value:,.0f}" if abs(value) >= 1000 and math.isfinite(value) else f"{value:.6g}"
