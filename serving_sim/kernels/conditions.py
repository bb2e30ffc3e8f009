"""What the queries before make of a service time: a server gone cold, and scatter that goes on."""

import math

from serving_sim.kernels.arrays import Floats
from serving_sim.kernels.compiled import compiled_within

__all__ = ["condition", "condition_on"]


@compiled_within
def condition(
    factor: float, idle_ms: float, gap_ms: float, cold: float, correlation: float, sigma: float, residual: float
) -> tuple[float, float]:
    """What a service time as drawn is multiplied by, and the device's normal deviate from here on.

    `cold` is the factor after more than `gap_ms` of idleness; `correlation` is that of the logs of the lognormal
    factors of one device's services (0: none), `sigma` their spread, `residual` the last deviate (NaN: none yet).
    """
    change = cold if idle_ms > gap_ms else 1.0
    if correlation > 0.0:
        drawn = math.log(factor) / sigma + sigma / 2
        if not math.isnan(residual):
            change *= math.exp(sigma * (correlation * residual + (math.sqrt(1 - correlation**2) - 1) * drawn))
            return change, correlation * residual + math.sqrt(1 - correlation**2) * drawn
        return change, drawn
    return change, residual


@compiled_within
def condition_on(
    conditions_PF: Floats, path: int, factor: float, idle_ms: float, residual: float
) -> tuple[float, float]:
    """The same for a path of `PathArrays`."""
    gap_ms, cold, correlation, sigma = (
        conditions_PF[path, 0],
        conditions_PF[path, 1],
        conditions_PF[path, 2],
        conditions_PF[path, 3],
    )
    return condition(factor, idle_ms, gap_ms, cold, correlation, sigma, residual)
