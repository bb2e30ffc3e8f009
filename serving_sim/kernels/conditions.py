"""What the queries before make of a service time: a server gone cold, and scatter that goes on."""

import math

from serving_sim.kernels.arrays import ADDED_MS, COLD, CORRELATION, GAP_MS, SIGMA, Floats
from serving_sim.kernels.compiled import compiled_within

__all__ = ["condition", "condition_on"]


@compiled_within
def condition(
    factor: float,
    idle_ms: float,
    gap_ms: float,
    cold: float,
    added_ms: float,
    correlation: float,
    sigma: float,
    residual: float,
) -> tuple[float, float, float]:
    """What a service time as drawn is multiplied by, what is then added, and the device's normal deviate from here on.

    `cold` and `added_ms` are both after more than `gap_ms` of idleness; `correlation` is that of the logs of the
    lognormal factors of one device's services (0: none), `sigma` their spread, `residual` the last deviate (NaN: none
    yet).
    """
    change, more_ms = (cold, added_ms) if idle_ms > gap_ms else (1.0, 0.0)
    if correlation > 0.0:
        drawn = math.log(factor) / sigma + sigma / 2
        if not math.isnan(residual):
            change *= math.exp(sigma * (correlation * residual + (math.sqrt(1 - correlation**2) - 1) * drawn))
            return change, more_ms, correlation * residual + math.sqrt(1 - correlation**2) * drawn
        return change, more_ms, drawn
    return change, more_ms, residual


@compiled_within
def condition_on(
    conditions_PF: Floats, path: int, factor: float, idle_ms: float, residual: float
) -> tuple[float, float, float]:
    """The same for a path of `PathArrays`."""
    gap_ms, cold, added_ms, correlation, sigma = (
        conditions_PF[path, GAP_MS],
        conditions_PF[path, COLD],
        conditions_PF[path, ADDED_MS],
        conditions_PF[path, CORRELATION],
        conditions_PF[path, SIGMA],
    )
    return condition(factor, idle_ms, gap_ms, cold, added_ms, correlation, sigma, residual)
