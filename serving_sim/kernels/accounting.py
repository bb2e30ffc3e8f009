"""What a chunk of served queries adds to the totals of a run."""

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels.arrays import (
    ARRIVED,
    BINS,
    CORRECT,
    CORRECT_IN_SLA,
    COUNTED,
    EXPONENT_OF_ONE,
    EXTRAPOLATED,
    FIRST_BIN,
    FIRST_MS,
    LAST_FINISH_MS,
    LATENCY_MS,
    MANTISSA_BITS,
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
from serving_sim.kernels.compiled import compiled

__all__ = ["account_chunk", "pick_bins"]


@compiled
def account_chunk(
    chunk: Chunk, count: int, warmup: int, sla_ms_C: Floats, paths: PathArrays, busy_ms_D: Floats, totals: Totals
) -> None:
    """Add up the chunk's queries, all but the first `warmup` of the run. Latency counts from the scheduled arrival.

    Busy times and the last finish are those of all queries. Fills the latencies of the counted ones. The chunk is cut
    where a section of the run ends, which changes no bit of the sums.
    """
    counts_CF, sums_CF = totals.counts_CF, totals.sums_CF
    last, section_queries = totals.sections_CKF.shape[1] - 1, totals.section_queries
    skip = min(max(warmup - counts_CF[0, ARRIVED], 0), count)
    counted = counts_CF[:, COUNTED].sum()
    if counted == 0 and skip < count:
        sums_CF[0, FIRST_MS] = chunk.arrival_ms_N[skip]
    _add_device_time(chunk, count, paths.device_P, busy_ms_D, sums_CF)
    kept = (counts_CF[:, COUNTED] - counts_CF[:, REFUSED]).sum()
    first = skip
    while first < count:
        section = min(counted // section_queries, last)
        end = count if section == last else min(count, first + section_queries - counted % section_queries)
        for class_ in range(sla_ms_C.size):
            kept = _add_class(class_, (section, first, end), chunk, kept, sla_ms_C[class_], paths, totals)
        counted += end - first
        first = end
    counts_CF[0, ARRIVED] += count


@compiled
def _add_device_time(chunk: Chunk, count: int, device_P: Ints, busy_ms_D: Floats, sums_CF: Floats) -> None:
    start_ms_N, service_ms_N, path_N = chunk.start_ms_N, chunk.service_ms_N, chunk.path_N
    last_ms = sums_CF[0, LAST_FINISH_MS]
    for query in range(count):
        path = path_N[query]
        if path >= 0:
            busy_ms_D[device_P[path]] += service_ms_N[query]
            last_ms = max(last_ms, start_ms_N[query] + service_ms_N[query])
    sums_CF[0, LAST_FINISH_MS] = last_ms


@compiled
def _add_class(
    class_: int,
    part: tuple[int, int, int],
    chunk: Chunk,
    kept: int,
    sla_ms: float,
    paths: PathArrays,
    totals: Totals,
) -> int:
    """Add up the queries of one class in part of the chunk: a section, first and end. Returns how many latencies are
    kept now.

    One loop and no helper, so that sums stay in registers: that halves the time.
    """
    section, skip, count = part
    # Slices start at 0, so that the compiler knows that no place in them is negative.
    size_N, class_N, path_N = chunk.size_N[skip:count], chunk.class_N[skip:count], chunk.path_N[skip:count]
    arrival_ms_N, start_ms_N = chunk.arrival_ms_N[skip:count], chunk.start_ms_N[skip:count]
    service_ms_N, latency_ms_N = chunk.service_ms_N[skip:count], chunk.latency_ms_N[skip:count]
    accuracy_P, first_size_P, last_size_P = paths.accuracy_P, paths.first_size_P, paths.last_size_P
    counts_F, sums_F, by_class_PC = totals.counts_CF[class_], totals.sums_CF[class_], totals.by_class_PC
    queries_S, histogram_B, exact_ms = totals.queries_CS[class_], totals.histogram_CKB[class_, section], totals.exact_ms
    section_F = totals.sections_CKF[class_, section]
    counted, refused, late_count, samples, extrapolated = 0, 0, 0, 0, 0
    correct_sum, in_sla_sum = sums_F[CORRECT], sums_F[CORRECT_IN_SLA]
    wait_sum_ms, latency_sum_ms = sums_F[WAIT_MS], sums_F[LATENCY_MS]
    for query in range(size_N.size):
        if class_N[query] != class_:
            continue
        size, path = size_N[query], path_N[query]
        # The wait first: an idle server serves in exactly the service time, however late the hour.
        wait_ms = start_ms_N[query] - arrival_ms_N[query]
        latency_ms = wait_ms + service_ms_N[query]
        latency_ms_N[query] = latency_ms
        wait_sum_ms += wait_ms
        latency_sum_ms += latency_ms
        counted += 1
        queries_S[np.uint64(size)] += 1
        if path < 0:
            refused += 1
            continue
        histogram_B[min(max((np.float64(latency_ms).view(np.int64) >> MANTISSA_SHIFT) - FIRST_BIN, 0), BINS - 1)] += 1
        # The exponent of a float is the whole part of its logarithm to base 2.
        by_class_PC[path, (np.float64(size | 1).view(np.int64) >> MANTISSA_BITS) - EXPONENT_OF_ONE] += 1
        if kept < exact_ms.size:
            exact_ms[kept] = latency_ms
            kept += 1
        is_late, correct = latency_ms > sla_ms, accuracy_P[path] * size
        late_count += is_late
        samples += size
        extrapolated += (size < first_size_P[path]) | (size > last_size_P[path])
        correct_sum += correct
        in_sla_sum += 0.0 if is_late else correct
    sums_F[CORRECT], sums_F[CORRECT_IN_SLA] = correct_sum, in_sla_sum
    sums_F[WAIT_MS], sums_F[LATENCY_MS] = wait_sum_ms, latency_sum_ms
    counts_F[COUNTED] += counted
    counts_F[REFUSED] += refused
    counts_F[VIOLATIONS] += late_count + refused
    counts_F[SAMPLES] += samples
    counts_F[EXTRAPOLATED] += extrapolated
    section_F[COUNTED] += counted
    section_F[VIOLATIONS] += late_count + refused
    return kept


@compiled
def pick_bins(values_ms: Floats, is_wanted_B: NDArray[np.bool_], picked_ms: Floats) -> None:
    """The values that fall into the wanted bins of the histogram, of which there must be as many as there is room."""
    bits_N, picked = values_ms.view(np.int64), 0
    for place in range(bits_N.size):
        if is_wanted_B[min(max((bits_N[place] >> MANTISSA_SHIFT) - FIRST_BIN, 0), BINS - 1)]:
            picked_ms[picked] = values_ms[place]
            picked += 1
