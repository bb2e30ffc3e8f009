"""Paths as the kernels read them: one service time per path and size, looked up.

Between a table's sizes, time is interpolated linearly in log size and log time. Above the last size it goes on at the
last segment's slope (0 at least; a single entry grows in proportion to size), below the first it stays; both are
counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from serving_sim.kernels import PathArrays
from serving_sim.plan import LatencyTable, Path, Plan

__all__ = ["LARGEST_SIZE", "PathTables", "Spread", "compile_paths", "service_ms"]

LARGEST_SIZE = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """How single service times scatter about the mean: a factor of mean 1."""

    kind: str = "none"
    sigma: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PathTables:
    """A plan's paths compiled: arrays for the kernels, and the distinct spreads that their rows of factors follow."""

    arrays: PathArrays
    spreads: tuple[Spread, ...]


def service_ms(table: LatencyTable, sizes: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean service time (ms) at each size, all of them >= 1."""
    log_sizes = np.log(np.asarray(sizes, dtype=np.float64))
    knots, values = np.log(np.array(table.sizes, dtype=np.float64)), np.log(np.array(table.mean_ms))
    slope = max(0.0, (values[-1] - values[-2]) / (knots[-1] - knots[-2])) if len(knots) > 1 else 1.0
    beyond = np.maximum(log_sizes - knots[-1], 0.0) * slope
    times: NDArray[np.float64] = np.exp(np.interp(log_sizes, knots, values) + beyond)
    return times


def compile_paths(plan: Plan) -> PathTables:
    """The plan's paths and devices as arrays, for sizes up to the workload's maximum.

    Raises:
        InputError: the maximum is above 2^20 samples.
    """
    maximum = plan.workload.largest_size
    if maximum > LARGEST_SIZE:
        raise InputError(f"workload: the largest size must be <= {LARGEST_SIZE}, but got {maximum}")
    spreads = tuple(dict.fromkeys(_spread(path) for path in plan.paths))
    sizes = np.arange(1, maximum + 1, dtype=np.int64)
    service_ms_SP = np.zeros((maximum + 1, len(plan.paths)))
    for column, path in enumerate(plan.paths):
        service_ms_SP[1:, column] = service_ms(path.latency, sizes)
    arrays = PathArrays(
        service_ms_SP=service_ms_SP,
        device_P=_integers([plan.device_of(path) for path in plan.paths]),
        spread_P=_integers([spreads.index(_spread(path)) for path in plan.paths]),
        accuracy_P=np.array([path.accuracy for path in plan.paths], dtype=np.float64),
        first_size_P=_integers([path.latency.sizes[0] for path in plan.paths]),
        last_size_P=_integers([path.latency.sizes[-1] for path in plan.paths]),
        servers_D=_integers([device.servers for device in plan.devices]),
        uncertain_D=_integers([_is_uncertain(plan, device.name) for device in plan.devices]),
    )
    return PathTables(arrays=arrays, spreads=spreads)


def _is_uncertain(plan: Plan, device: str) -> bool:
    return any(path.device == device and path.latency.spread != "none" for path in plan.paths)


def _spread(path: Path) -> Spread:
    kind = path.latency.spread
    return Spread(kind=kind, sigma=path.latency.sigma if kind == "lognormal" else 0.0)


def _integers(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
