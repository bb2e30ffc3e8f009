"""What a chunk of served queries adds to the totals of a run."""

import numpy as np
from numba import njit

from serving_sim.kernels.arrays import (
    ARRIVED,
    BINS,
    CORRECT,
    CORRECT_IN_SLA,
    COUNTED,
    EXTRAPOLATED,
    FIRST_BIN,
    FIRST_MS,
    LAST_FINISH_MS,
    LATENCY_MS,
    MANTISSA_SHIFT,
    SAMPLES,
    VIOLATIONS,
    WAIT_MS,
    Chunk,
    PathArrays,
    Totals,
)

__all__ = ["account_chunk"]


@njit(cache=True)
def account_chunk(chunk: Chunk, count: int, warmup: int, sla_ms: float, paths: PathArrays, totals: Totals) -> None:
    """Add up the chunk's queries, all but the first `warmup` of the run. Latency counts from the scheduled arrival."""
    counts, sums = totals.counts, totals.sums
    latency_1 = np.empty(1)
    bits_1 = latency_1.view(np.int64)
    for query in range(count):
        sums[LAST_FINISH_MS] = max(sums[LAST_FINISH_MS], chunk.start_ms_N[query] + chunk.service_ms_N[query])
        counts[ARRIVED] += 1
        if counts[ARRIVED] <= warmup:
            continue
        size, path = chunk.size_N[query], chunk.path_N[query]
        # The wait first: an idle server serves in exactly the service time, however late the hour.
        wait_ms = chunk.start_ms_N[query] - chunk.arrival_ms_N[query]
        latency_ms = wait_ms + chunk.service_ms_N[query]
        if counts[COUNTED] == 0:
            sums[FIRST_MS] = chunk.arrival_ms_N[query]
        if counts[COUNTED] < totals.exact_ms.size:
            totals.exact_ms[counts[COUNTED]] = latency_ms
        latency_1[0] = latency_ms
        bin_ = (bits_1[0] >> MANTISSA_SHIFT) - FIRST_BIN
        totals.histogram_B[min(max(bin_, 0), BINS - 1)] += 1
        size_class, rest = 0, size >> 1
        while rest > 0:
            size_class, rest = size_class + 1, rest >> 1
        totals.by_class_PC[path, size_class] += 1
        correct = paths.accuracy_P[path] * size
        counts[COUNTED] += 1
        counts[SAMPLES] += size
        sums[CORRECT] += correct
        sums[WAIT_MS] += wait_ms
        sums[LATENCY_MS] += latency_ms
        if latency_ms > sla_ms:
            counts[VIOLATIONS] += 1
        else:
            sums[CORRECT_IN_SLA] += correct
        if size < paths.first_size_P[path] or size > paths.last_size_P[path]:
            counts[EXTRAPOLATED] += 1
