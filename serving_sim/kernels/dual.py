"""The loops of the fluid bound: the dual of the linear program, over queries of a chunk or over weighted rows.

Shape suffixes as in `arrays`; R rows of the fluid bound.
"""

import numpy as np

from serving_sim.kernels.arrays import Chunk, Floats, Ints, PathArrays
from serving_sim.kernels.compiled import compiled

__all__ = [
    "dual_gradient",
    "dual_in_windows",
    "dual_sum_chunk",
    "least_cost",
]


@compiled
def dual_sum_chunk(
    chunk: Chunk, count: int, skip: int, sla_ms_C: Floats, prices_D: Floats, paths: PathArrays, total: Floats
) -> None:
    """Add each query's best gain, `max(0, over paths: correct - price of its device time)`, to `total[0]`."""
    service_ms_SP, spread_P, accuracy_P = paths.service_ms_SP, paths.spread_P, paths.accuracy_P
    size_N, class_N, factor_KN, price_P = chunk.size_N, chunk.class_N, chunk.factor_KN, prices_D[paths.device_P]
    for query in range(skip, count):
        size, sla_ms = size_N[query], sla_ms_C[class_N[query]]
        best = 0.0
        for path in range(price_P.size):
            service_ms = service_ms_SP[size, path] * factor_KN[spread_P[path], query]
            gain = accuracy_P[path] * size - price_P[path] * service_ms
            best = gain if (service_ms <= sla_ms) & (gain > best) else best
        total[0] += best


@compiled
def dual_gradient(
    weight_R: Floats, worth_RP: Floats, service_ms_RP: Floats, device_P: Ints, prices_D: Floats, used_ms_D: Floats
) -> float:
    """The sum over rows of `weight x max(0, worth - price x service)`; `used_ms_D` receives the device time it takes.

    A path that a row cannot take has infinite service time.
    """
    total = 0.0
    used_ms_D[:] = 0.0
    for row in range(weight_R.size):
        best, best_path = 0.0, -1
        for path in range(device_P.size):
            if service_ms_RP[row, path] == np.inf:
                continue
            gain = worth_RP[row, path] - prices_D[device_P[path]] * service_ms_RP[row, path]
            if gain > best:
                best, best_path = gain, path
        if best_path >= 0:
            total += weight_R[row] * best
            used_ms_D[device_P[best_path]] += weight_R[row] * service_ms_RP[row, best_path]
    return total


@compiled
def least_cost(weight_R: Floats, service_ms_RP: Floats, device_P: Ints, prices_D: Floats, used_ms_D: Floats) -> float:
    """The sum over rows of `weight x min over paths of price x service`; `used_ms_D` receives the device time."""
    total = 0.0
    used_ms_D[:] = 0.0
    for row in range(weight_R.size):
        best, best_path = np.inf, 0
        for path in range(device_P.size):
            cost = prices_D[device_P[path]] * service_ms_RP[row, path]
            if cost < best:
                best, best_path = cost, path
        total += weight_R[row] * best
        used_ms_D[device_P[best_path]] += weight_R[row] * service_ms_RP[row, best_path]
    return total


@compiled
def dual_in_windows(
    chunk: Chunk,
    count: int,
    skip: int,
    window_ms: float,
    sla_ms_C: Floats,
    prices_WD: Floats,
    paths: PathArrays,
    used_ms_WD: Floats,
) -> float:
    """The sum over queries `skip`..`count` of their best gain at prices that differ by window of time.

    A query pays the lowest price of the windows between its arrival and its deadline; `used_ms_WD` receives the device
    time, in the window that it pays for. Windows start with the arrival of the first query that is not skipped.
    """
    service_ms_SP, spread_P, device_P, accuracy_P = (
        paths.service_ms_SP,
        paths.spread_P,
        paths.device_P,
        paths.accuracy_P,
    )
    size_N, class_N, factor_KN, arrival_ms_N = chunk.size_N, chunk.class_N, chunk.factor_KN, chunk.arrival_ms_N
    cheapest_D, window_D = np.empty(prices_WD.shape[1]), np.empty(prices_WD.shape[1], dtype=np.int64)
    used_ms_WD[:] = 0.0
    total, start_ms, last = 0.0, arrival_ms_N[skip], prices_WD.shape[0] - 1
    for query in range(skip, count):
        sla_ms, since_ms = sla_ms_C[class_N[query]], arrival_ms_N[query] - start_ms
        first = min(int(since_ms / window_ms), last)
        cheapest_D[:], window_D[:] = prices_WD[first], first
        for window in range(first + 1, min(int((since_ms + sla_ms) / window_ms), last) + 1):
            for device in range(cheapest_D.size):
                if prices_WD[window, device] < cheapest_D[device]:
                    cheapest_D[device], window_D[device] = prices_WD[window, device], window
        best, best_path, best_ms, size = 0.0, -1, 0.0, size_N[query]
        for path in range(device_P.size):
            service_ms = service_ms_SP[size, path] * factor_KN[spread_P[path], query]
            gain = accuracy_P[path] * size - cheapest_D[device_P[path]] * service_ms
            if service_ms <= sla_ms and gain > best:
                best, best_path, best_ms = gain, path, service_ms
        if best_path >= 0:
            total += best
            used_ms_WD[window_D[device_P[best_path]], device_P[best_path]] += best_ms
    return total
