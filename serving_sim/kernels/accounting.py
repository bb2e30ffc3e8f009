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
    REFUSED,
    SAMPLES,
    VIOLATIONS,
    WAIT_MS,
    Chunk,
    Floats,
    Ints,
    PathArrays,
    Totals,
)

__all__ = ["account_chunk"]


@njit(cache=True)
def account_chunk(
    chunk: Chunk, count: int, warmup: int, sla_ms_C: Floats, paths: PathArrays, busy_ms_D: Floats, totals: Totals
) -> None:
    """Add up the chunk's queries, all but the first `warmup` of the run. Latency counts from the scheduled arrival.

    Busy times and the last finish are those of all queries. Fills the chunk's latencies.
    """
    counts_CF, sums_CF = totals.counts_CF, totals.sums_CF
    skip = min(max(warmup - counts_CF[0, ARRIVED], 0), count)
    if counts_CF[:, COUNTED].sum() == 0 and skip < count:
        sums_CF[0, FIRST_MS] = chunk.arrival_ms_N[skip]
    _add_device_time(chunk, count, paths.device_P, busy_ms_D, sums_CF)
    kept = (counts_CF[:, COUNTED] - counts_CF[:, REFUSED]).sum()
    _add_times(chunk, skip, count, kept, totals.exact_ms, totals.histogram_CB, sums_CF)
    _add_worth(chunk, skip, count, sla_ms_C, paths, totals)
    counts_CF[0, ARRIVED] += count


@njit(cache=True)
def _add_device_time(chunk: Chunk, count: int, device_P: Ints, busy_ms_D: Floats, sums_CF: Floats) -> None:
    start_ms_N, service_ms_N, path_N = chunk.start_ms_N, chunk.service_ms_N, chunk.path_N
    last_ms = sums_CF[0, LAST_FINISH_MS]
    for query in range(count):
        path = path_N[query]
        if path >= 0:
            busy_ms_D[device_P[path]] += service_ms_N[query]
            last_ms = max(last_ms, start_ms_N[query] + service_ms_N[query])
    sums_CF[0, LAST_FINISH_MS] = last_ms


@njit(cache=True)
def _add_times(
    chunk: Chunk, skip: int, count: int, kept: int, exact_ms: Floats, histogram_CB: Ints, sums_CF: Floats
) -> None:
    arrival_ms_N, start_ms_N, service_ms_N = chunk.arrival_ms_N, chunk.start_ms_N, chunk.service_ms_N
    latency_ms_N, class_N, path_N = chunk.latency_ms_N, chunk.class_N, chunk.path_N
    bits_N = latency_ms_N.view(np.int64)
    for query in range(skip, count):
        # The wait first: an idle server serves in exactly the service time, however late the hour.
        wait_ms = start_ms_N[query] - arrival_ms_N[query]
        latency_ms_N[query] = wait_ms + service_ms_N[query]
        sums_CF[class_N[query], WAIT_MS] += wait_ms
        sums_CF[class_N[query], LATENCY_MS] += latency_ms_N[query]
    for query in range(skip, count):
        if path_N[query] < 0:
            continue
        bin_ = (bits_N[query] >> MANTISSA_SHIFT) - FIRST_BIN
        histogram_CB[class_N[query], min(max(bin_, 0), BINS - 1)] += 1
        if kept < exact_ms.size:
            exact_ms[kept] = latency_ms_N[query]
            kept += 1


@njit(cache=True)
def _add_worth(chunk: Chunk, skip: int, count: int, sla_ms_C: Floats, paths: PathArrays, totals: Totals) -> None:
    size_N, class_N, path_N, latency_ms_N = chunk.size_N, chunk.class_N, chunk.path_N, chunk.latency_ms_N
    accuracy_P, first_size_P, last_size_P = paths.accuracy_P, paths.first_size_P, paths.last_size_P
    counts_CF, sums_CF, by_class_PC, queries_CS, _, _ = totals
    for query in range(skip, count):
        size, class_, path = size_N[query], class_N[query], path_N[query]
        counts_CF[class_, COUNTED] += 1
        queries_CS[class_, size] += 1
        if path < 0:
            counts_CF[class_, REFUSED] += 1
            counts_CF[class_, VIOLATIONS] += 1
            continue
        size_class, rest = 0, size >> 1
        while rest > 0:
            size_class, rest = size_class + 1, rest >> 1
        by_class_PC[path, size_class] += 1
        correct = accuracy_P[path] * size
        late = latency_ms_N[query] > sla_ms_C[class_]
        counts_CF[class_, SAMPLES] += size
        counts_CF[class_, VIOLATIONS] += late
        counts_CF[class_, EXTRAPOLATED] += (size < first_size_P[path]) | (size > last_size_P[path])
        sums_CF[class_, CORRECT] += correct
        sums_CF[class_, CORRECT_IN_SLA] += 0.0 if late else correct
