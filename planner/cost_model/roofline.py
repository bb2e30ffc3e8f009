"""The physical part of the model: latency as a sum of an overhead and of work over rates.

    t = overhead + rows * c_row + flops / rate + bytes / bandwidth + bytes * log(1 + parameters / 1 MiB) * c_miss

The last term is the bandwidth that falls as tables and weights outgrow the caches. All constants are nonnegative, and
no rate may exceed the device's limits, so that the sum is positive and grows with the batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.cost_model.estimates import Floats
from planner.cost_model.features import BYTES_PER_MIB, CostDrivers
from profiles.errors import InputError
from profiles.units import MS_PER_S

__all__ = ["PhysicalLimits", "Roofline", "fit_roofline"]

_TERMS = ("overhead", "row", "flop", "byte", "missed_byte")
# A call of a nanosecond is none.
_LEAST_OVERHEAD_MS = 1e-6
# Keeps constants that the rows do not determine small; far below any noise of the rows.
_RIDGE = 1e-3
_ROUNDS = 10
_HUBER = 1.345
_LEAST_SCALE = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class PhysicalLimits:
    """Rates that nothing on the device can exceed."""

    flops_per_s: float
    bytes_per_s: float

    def __post_init__(self) -> None:
        for name in ("flops_per_s", "bytes_per_s"):
            if not getattr(self, name) > 0:
                raise InputError(f"physical limits: {name} must be > 0, but got {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Roofline:
    """Fitted constants by term, in ms per unit of the term."""

    ms_per_unit: Mapping[str, float]

    def predict(self, drivers: CostDrivers) -> Floats:
        """[N]: latency in ms, > 0."""
        constants = np.array([self.ms_per_unit[term] for term in _TERMS])
        predicted: Floats = _terms(drivers) @ constants
        return predicted


def fit_roofline(drivers: CostDrivers, latency_ms: Floats, limits: PhysicalLimits) -> Roofline:
    """Least squares on the relative error with Huber weights, so that a few wild rows do not bend the roof."""
    lowest = np.array([_LEAST_OVERHEAD_MS, 0.0, MS_PER_S / limits.flops_per_s, MS_PER_S / limits.bytes_per_s, 0.0])
    relative = _terms(drivers) / latency_ms[:, None]
    scale = np.maximum(relative.max(axis=0), 1e-300)
    design, target = relative / scale, 1 - relative @ lowest
    weights = np.ones(len(latency_ms))
    solution = np.zeros(len(_TERMS))
    for _ in range(_ROUNDS):
        solution = _nonnegative(design, target, weights)
        weights = _huber_weights(design @ solution - target)
    constants = lowest + solution / scale
    return Roofline(ms_per_unit=dict(zip(_TERMS, constants.tolist(), strict=True)))


def _terms(drivers: CostDrivers) -> Floats:
    missed = drivers.bytes_N * np.log1p(drivers.parameter_bytes_N / BYTES_PER_MIB)
    return np.column_stack(
        (np.ones(len(drivers.batch)), drivers.batch, drivers.flops_N, drivers.bytes_N, missed),
    )


def _nonnegative(design: Floats, target: Floats, weights: Floats) -> Floats:
    from scipy.optimize import nnls

    ridge = _RIDGE * np.sqrt(len(target)) * np.eye(design.shape[1])
    rows = np.vstack((design * weights[:, None], ridge))
    solution, _ = nnls(rows, np.concatenate((target * weights, np.zeros(len(ridge)))))
    return np.asarray(solution, dtype=np.float64)


def _huber_weights(errors: Floats) -> Floats:
    scale = max(1.4826 * float(np.median(np.abs(errors))), _LEAST_SCALE)
    return np.sqrt(np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(errors), 1e-12)))
