"""One stream of queries under many scenarios at once: the outer loop runs over queries, the inner ones over scenarios.

A scenario is a lane of every array, so that inner loops are branch-free and use the processor's vector units. Times are
float32, relative to the last arrival. For the compiler to see that, an inner loop writes few arrays (it gives up where
too many might overlap) and reads them before it decides.

Shape suffixes: M scenarios (lanes), N queries, Q queries of a block, E entries of a rule, X pairs of entries, P paths,
D devices, V servers of all devices, S sizes, B histogram bins, G sums, L places for each of `LANES` scenarios.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels.arrays import Ints
from serving_sim.kernels.compiled import compiled

__all__ = [
    "CORRECT_SUM",
    "GRID_FIRST_BIN",
    "IN_SLA_SUM",
    "LANES",
    "LATE_SUM",
    "NO_ENTRY",
    "SUMS",
    "GridRule",
    "GridState",
    "Singles",
    "serve_grid",
]

Singles = NDArray[np.float32]

# Scenarios of a call at most: their arrays have to fit into the first-level cache.
LANES = 128
# 128 bins per octave of a float32, from 2^-20 ms on, as many as the log histogram of a run has.
_SHIFT = 23 - 7
GRID_FIRST_BIN = (127 - 20) * 128
# Rows of `GridState.sums_GM`.
LATE_SUM, CORRECT_SUM, IN_SLA_SUM = 0, 1, 2
SUMS = 3
# The partner of an entry that has none.
NO_ENTRY = -1
# Where `GridState.taken_L` has of a scenario's query: its path, latency and worth, and the least latency of the tier.
_MARK, _LATENCY, _WORTH, _TIER = 0, LANES, 2 * LANES, 3 * LANES
# Where the sums of a block are.
_LATE, _CORRECT, _IN_SLA = LATE_SUM * LANES, CORRECT_SUM * LANES, IN_SLA_SUM * LANES


class GridRule(NamedTuple):
    """A tiered rule with limits for each scenario, on paths that all of them share.

    Entries come in pairs (`one_X`, and `other_X` or none) of one tier, from the last tier to the first, and within a
    tier from its last entries to its first; `is_whole_X` tells those that are all of their tier. The rule's last entry
    has to pass always. Least and most are over the scenarios, to leave out what none can take and what stops none;
    `passes_E` says which entries pass in all of them. `worth_P` is a path's correct predictions per sample. Paths have
    marks in the order of their devices: those of device d are below `end_D[d]`. Its servers are rows `first_D[d]` and
    those after it.
    """

    one_X: Ints
    other_X: Ints
    is_whole_X: NDArray[np.bool_]
    path_E: Ints
    tier_E: Ints
    limit_ms_EM: Singles
    rate_per_ms_EM: Singles
    most_ms_E: Singles
    least_rate_E: Singles
    most_rate_E: Singles
    passes_E: NDArray[np.bool_]
    device_P: Ints
    mark_P: Singles
    end_D: Singles
    first_D: Ints
    servers_D: Ints
    worth_P: Singles
    service_ms_SP: Singles
    gap_ms_M: Singles
    sla_ms_M: Singles


class GridState(NamedTuple):
    """Work left per server, least first on each device, and a last row that never ends; sums over queries; the bins of
    a block's latencies, and their histogram.

    `taken_L` and the singles of the sums are room for the kernel.
    """

    left_ms_VM: Singles
    taken_L: Singles
    bin_QM: NDArray[np.int16]
    block_L: Singles
    block_queries_PM: Singles
    block_busy_ms_DM: Singles
    sums_GM: NDArray[np.float64]
    queries_PM: NDArray[np.float64]
    busy_ms_DM: NDArray[np.float64]
    histogram_MB: NDArray[np.int32]


@compiled
def serve_grid(gap_N: Singles, size_N: Ints, factor_N: Singles, rule: GridRule, state: GridState) -> None:
    """Serve the queries (gaps in units of the mean gap) in every scenario, and add up what became of them."""
    block = state.bin_QM.shape[0]
    for start in range(0, gap_N.size, block):
        end = min(start + block, gap_N.size)
        _serve_block(gap_N[start:end], size_N[start:end], factor_N[start:end], rule, state)
        _empty_block(end - start, state)


@compiled
def _serve_block(  # noqa: C901, PLR0912, PLR0915 (a call for each query and path costs as much as what it does)
    gap_N: Singles, size_N: Ints, factor_N: Singles, rule: GridRule, state: GridState
) -> None:
    one_X, other_X, is_whole_X, path_E, tier_E = rule.one_X, rule.other_X, rule.is_whole_X, rule.path_E, rule.tier_E
    most_ms_E, least_rate_E, most_rate_E, passes_E = rule.most_ms_E, rule.least_rate_E, rule.most_rate_E, rule.passes_E
    limit_ms_EM, rate_per_ms_EM, worth_P = rule.limit_ms_EM, rule.rate_per_ms_EM, rule.worth_P
    device_P, mark_P, end_D, first_D, servers_D = rule.device_P, rule.mark_P, rule.end_D, rule.first_D, rule.servers_D
    service_ms_SP, gap_ms_M, sla_ms_M = rule.service_ms_SP, rule.gap_ms_M, rule.sla_ms_M
    left_ms_VM, taken_L, bin_QM, block_L, block_queries_PM, block_busy_ms_DM, _, _, _, histogram_MB = state
    bits_L, servers, bins = taken_L.view(np.int32), left_ms_VM.shape[0] - 1, histogram_MB.shape[1]
    seen_P, candidate_P = np.full(device_P.size, -1), np.zeros(device_P.size, np.int64)
    lanes, none, one, never = gap_ms_M.size, np.float32(0), np.float32(1), np.float32(np.inf)
    for query in range(gap_N.size):
        gap, factor, size = gap_N[query], factor_N[query], np.float32(size_N[query])
        for row in range(servers):
            for lane in range(lanes):
                left_ms_VM[row, lane] = max(none, left_ms_VM[row, lane] - gap * gap_ms_M[lane])
        tier, candidates = -1, 0
        for pair in range(one_X.size):
            first, second, found = one_X[pair], NO_ENTRY, 0
            for entry in (one_X[pair], other_X[pair]):
                if entry == NO_ENTRY:
                    continue
                path = path_E[entry]
                service_ms = service_ms_SP[size_N[query], path] * factor
                if least_rate_E[entry] * service_ms > size or service_ms > most_ms_E[entry]:
                    continue
                first, second, found = (entry if found == 0 else first), (entry if found else NO_ENTRY), found + 1
                if seen_P[path] != query:
                    seen_P[path], candidate_P[candidates], candidates = query, path, candidates + 1
            if found == 0:
                continue
            path = path_E[first]
            service_1_ms = service_2_ms = service_ms_SP[size_N[query], path] * factor
            row_1, row_2, mark_1, worth_1 = first_D[device_P[path]], servers, mark_P[path], worth_P[path] * size
            mark_2, worth_2 = mark_1, worth_1
            if second == NO_ENTRY:
                second = first
            else:
                path = path_E[second]
                service_2_ms = service_ms_SP[size_N[query], path] * factor
                row_2, mark_2, worth_2 = first_D[device_P[path]], mark_P[path], worth_P[path] * size
            rate_1, rate_2 = most_rate_E[first] * service_1_ms, most_rate_E[second] * service_2_ms
            # The last of these loops would do for all; the others read and write less.
            if is_whole_X[pair] and passes_E[first] and passes_E[second]:
                for lane in range(lanes):
                    done_1_ms, done_2_ms = (
                        left_ms_VM[row_1, lane] + service_1_ms,
                        left_ms_VM[row_2, lane] + service_2_ms,
                    )
                    is_first = done_1_ms <= done_2_ms
                    taken_L[_MARK + lane] = mark_1 if is_first else mark_2
                    taken_L[_LATENCY + lane] = done_1_ms if is_first else done_2_ms
                    taken_L[_WORTH + lane] = worth_1 if is_first else worth_2
            elif is_whole_X[pair] and rate_1 <= size and rate_2 <= size:
                for lane in range(lanes):
                    done_1_ms, done_2_ms = (
                        left_ms_VM[row_1, lane] + service_1_ms,
                        left_ms_VM[row_2, lane] + service_2_ms,
                    )
                    mark, latency_ms, worth = taken_L[_MARK + lane], taken_L[_LATENCY + lane], taken_L[_WORTH + lane]
                    tried_1_ms = done_1_ms if done_1_ms <= limit_ms_EM[first, lane] else never
                    tried_2_ms = done_2_ms if done_2_ms <= limit_ms_EM[second, lane] else never
                    is_first, least_ms = tried_1_ms <= tried_2_ms, min(tried_1_ms, tried_2_ms)
                    passes = least_ms < never
                    taken_L[_MARK + lane] = (mark_1 if is_first else mark_2) if passes else mark
                    taken_L[_LATENCY + lane] = least_ms if passes else latency_ms
                    taken_L[_WORTH + lane] = (worth_1 if is_first else worth_2) if passes else worth
            else:
                if tier_E[first] != tier:
                    for lane in range(lanes):
                        taken_L[_TIER + lane] = never
                for lane in range(lanes):
                    done_1_ms, done_2_ms = (
                        left_ms_VM[row_1, lane] + service_1_ms,
                        left_ms_VM[row_2, lane] + service_2_ms,
                    )
                    mark, latency_ms, worth = taken_L[_MARK + lane], taken_L[_LATENCY + lane], taken_L[_WORTH + lane]
                    within_1 = (done_1_ms <= limit_ms_EM[first, lane]) & (
                        rate_per_ms_EM[first, lane] * service_1_ms <= size
                    )
                    within_2 = (done_2_ms <= limit_ms_EM[second, lane]) & (
                        rate_per_ms_EM[second, lane] * service_2_ms <= size
                    )
                    tried_1_ms, tried_2_ms = done_1_ms if within_1 else never, done_2_ms if within_2 else never
                    is_first, least_ms = tried_1_ms <= tried_2_ms, min(tried_1_ms, tried_2_ms)
                    best_ms = taken_L[_TIER + lane]
                    passes = (least_ms < never) & (least_ms <= best_ms)
                    taken_L[_MARK + lane] = (mark_1 if is_first else mark_2) if passes else mark
                    taken_L[_LATENCY + lane] = least_ms if passes else latency_ms
                    taken_L[_WORTH + lane] = (worth_1 if is_first else worth_2) if passes else worth
                    taken_L[_TIER + lane] = min(least_ms, best_ms)
            tier = tier_E[first]
        begin = none
        for device in range(servers_D.size):
            row, end = first_D[device], end_D[device]
            for lane in range(lanes):
                left_ms, mark, busy_ms = left_ms_VM[row, lane], taken_L[_MARK + lane], block_busy_ms_DM[device, lane]
                is_own = (mark >= begin) & (mark < end)
                now_ms = taken_L[_LATENCY + lane] if is_own else left_ms
                left_ms_VM[row, lane] = now_ms
                block_busy_ms_DM[device, lane] = busy_ms + (now_ms - left_ms)
            _sort(row, row + servers_D[device], left_ms_VM)
            begin = end
        for candidate in range(candidates):
            path = candidate_P[candidate]
            mark = mark_P[path]
            for lane in range(lanes):
                queries = block_queries_PM[path, lane]
                block_queries_PM[path, lane] = queries + (one if taken_L[_MARK + lane] == mark else none)
        for lane in range(lanes):
            late, correct, in_sla = block_L[_LATE + lane], block_L[_CORRECT + lane], block_L[_IN_SLA + lane]
            worth, is_late = taken_L[_WORTH + lane], taken_L[_LATENCY + lane] > sla_ms_M[lane]
            block_L[_LATE + lane] = late + (one if is_late else none)
            block_L[_CORRECT + lane] = correct + worth
            block_L[_IN_SLA + lane] = in_sla + (none if is_late else worth)
        for lane in range(lanes):
            bin_QM[query, lane] = min(max((bits_L[_LATENCY + lane] >> _SHIFT) - GRID_FIRST_BIN, 0), bins - 1)


@compiled
def _sort(first: int, end: int, left_ms_VM: Singles) -> None:
    """Move the work that has grown, in the first row, to its place among the device's servers."""
    for row in range(first, end - 1):
        for lane in range(left_ms_VM.shape[1]):
            here_ms, next_ms = left_ms_VM[row, lane], left_ms_VM[row + 1, lane]
            left_ms_VM[row, lane] = min(here_ms, next_ms)
            left_ms_VM[row + 1, lane] = max(here_ms, next_ms)


@compiled
def _empty_block(count: int, state: GridState) -> None:
    """Sums of a block, short enough for float32, go to those in float64; its latencies to the histograms."""
    bin_QM, histogram_MB, lanes = state.bin_QM, state.histogram_MB, state.bin_QM.shape[1]
    for lane in range(lanes):
        for place in range(count):
            histogram_MB[lane, np.uint64(bin_QM[place, lane])] += 1
    for place in range(SUMS):
        state.sums_GM[place] += state.block_L[place * LANES : place * LANES + lanes]
    state.queries_PM[:] += state.block_queries_PM
    state.busy_ms_DM[:] += state.block_busy_ms_DM
    state.block_L[:] = 0
    state.block_queries_PM[:] = 0
    state.block_busy_ms_DM[:] = 0
