"""The physical part of the model: latency as a sum of an overhead and of work over rates.

    t = overhead + rows * c_row + flops / rate + bytes / bandwidth + bytes * log(1 + parameters / 1 MiB) * c_miss

The last term is the bandwidth that falls as tables and weights outgrow the caches. All constants are bounded: no rate
may exceed the device's limits, so that the sum is positive and grows with the batch, and none may be absurdly low, so
that a constant which the rows hardly determine does no harm beyond them.
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
_SLOWEST_FLOPS_PER_S = 1e8
_SLOWEST_BYTES_PER_S = 1e8
# A random read of a cache line of 64 bytes takes about 100 ns, of which each e-fold of memory is a part.
_SLOWEST_MISSES_PER_S = 2e9
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
    lowest, highest = _bounds(limits)
    relative = _terms(drivers) / latency_ms[:, None]
    largest = relative.max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    design, target = relative / scale, 1 - relative @ lowest
    room = (highest - lowest) * scale
    weights = np.ones(len(latency_ms))
    solution = np.zeros(len(_TERMS))
    for _ in range(_ROUNDS):
        solution = _bounded(design, target, weights, room)
        weights = _huber_weights(design @ solution - target)
    constants = lowest + solution / scale
    return Roofline(ms_per_unit=dict(zip(_TERMS, constants.tolist(), strict=True)))


def _terms(drivers: CostDrivers) -> Floats:
    missed = drivers.bytes_N * np.log1p(drivers.parameter_bytes_N / BYTES_PER_MIB)
    return np.column_stack(
        (np.ones(len(drivers.batch)), drivers.batch, drivers.flops_N, drivers.bytes_N, missed),
    )


def _bounds(limits: PhysicalLimits) -> tuple[Floats, Floats]:
    """The least and the largest constant of each term, in ms per unit."""
    lowest = np.array([_LEAST_OVERHEAD_MS, 0.0, MS_PER_S / limits.flops_per_s, MS_PER_S / limits.bytes_per_s, 0.0])
    slowest = MS_PER_S / np.array([_SLOWEST_FLOPS_PER_S, _SLOWEST_BYTES_PER_S, _SLOWEST_MISSES_PER_S])
    return lowest, np.array([np.inf, np.inf, *slowest])


def _bounded(design: Floats, target: Floats, weights: Floats, room: Floats) -> Floats:
    from scipy.optimize import lsq_linear

    ridge = _RIDGE * np.sqrt(len(target)) * np.eye(design.shape[1])
    rows = np.vstack((design * weights[:, None], ridge))
    wanted = np.concatenate((target * weights, np.zeros(len(ridge))))
    return np.asarray(lsq_linear(rows, wanted, (0.0, room), method="bvls").x, dtype=np.float64)


def _huber_weights(errors: Floats) -> Floats:
    scale = max(1.4826 * float(np.median(np.abs(errors))), _LEAST_SCALE)
    return np.sqrt(np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(errors), 1e-12)))
