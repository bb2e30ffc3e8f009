"""The serving scenario as the least that compiled code can do: the recurrence of one run, and each query's latency."""

import numpy as np
from numba import njit

from serving_sim.kernels import Floats, Ints

__all__ = ["serve"]


@njit(boundscheck=False)
def serve(
    gap_N: Floats,
    size_N: Ints,
    factor_N: Floats,
    gap_ms: float,
    service_ms_SP: Floats,
    device_P: Ints,
    rule_E: tuple[Ints, Ints, Floats, Floats],
    latency_ms_N: Floats,
) -> None:
    """Fills `latency_ms_N`. Two devices of one server; `rule_E` holds path, tier, limit and rate of each entry."""
    path_E, tier_E, limit_ms_E, rate_per_ms_E = rule_E
    free_ms_D = np.zeros(2)
    now_ms = 0.0
    for query in range(gap_N.size):
        now_ms += gap_N[query] * gap_ms
        size = size_N[query]
        best, best_ms, best_tier = path_E[-1], np.inf, -1
        for entry in range(path_E.size):
            if tier_E[entry] != best_tier and best_tier >= 0:
                break
            path = path_E[entry]
            service_ms = service_ms_SP[size, path]
            expected_ms = service_ms + max(0.0, free_ms_D[device_P[path]] - now_ms)
            passes = (expected_ms <= limit_ms_E[entry]) & (size >= rate_per_ms_E[entry] * service_ms)
            if passes and expected_ms < best_ms:
                best, best_ms, best_tier = path, expected_ms, tier_E[entry]
        device = device_P[best]
        start_ms = max(now_ms, free_ms_D[device])
        service_ms = service_ms_SP[size, best] * factor_N[query]
        free_ms_D[device] = start_ms + service_ms
        latency_ms_N[query] = start_ms - now_ms + service_ms
