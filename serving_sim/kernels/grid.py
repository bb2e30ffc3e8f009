"""One stream of queries under many scenarios at once: the outer loop runs over queries, the inner ones over scenarios.

A scenario is a lane of every array, so that inner loops are branch-free and use the processor's vector units. Times are
float32, relative to the last arrival. For the compiler to see that, an inner loop writes few arrays (it gives up where
too many might overlap) and reads them before it decides.

Shape suffixes: M scenarios (lanes), N queries, Q queries of a block, E entries of a rule, P paths, D devices, V servers
of all devices, S sizes, B histogram bins, G sums.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels.arrays import Ints
from serving_sim.kernels.compiled import compiled

__all__ = ["CORRECT_SUM", "GRID_FIRST_BIN", "IN_SLA_SUM", "LATE_SUM", "GridRule", "GridState", "Singles", "serve_grid"]

Singles = NDArray[np.float32]

# 128 bins per octave of a float32, from 2^-20 ms on, as many as the log histogram of a run has.
_SHIFT = 23 - 7
GRID_FIRST_BIN = (127 - 20) * 128
# Rows of `GridState.sums_GM`.
LATE_SUM, CORRECT_SUM, IN_SLA_SUM = 0, 1, 2
# Later than any query is done.
_LATEST_MS = np.float32(1e30)


class GridRule(NamedTuple):
    """A tiered rule with limits for each scenario, on paths that all of them share.

    The last entry has to pass always. Least and most are over the scenarios, to leave out what none can take;
    `passes_E` says which entries pass in all of them. `worth_P` is a path's correct predictions per sample. The servers
    of device d are rows `first_D[d]` and those after it.
    """

    path_E: Ints
    tier_E: Ints
    limit_ms_EM: Singles
    rate_per_ms_EM: Singles
    most_ms_E: Singles
    least_rate_E: Singles
    passes_E: NDArray[np.bool_]
    device_P: Ints
    first_D: Ints
    servers_D: Ints
    worth_P: Singles
    service_ms_SP: Singles
    gap_ms_M: Singles
    sla_ms_M: Singles


class GridState(NamedTuple):
    """Work left per server, least first on each device; sums over queries; latencies of a block and their histogram.

    `chosen_M`, `spare_M` and the singles of the sums are room for the kernel.
    """

    left_ms_VM: Singles
    latency_ms_QM: Singles
    chosen_M: Singles
    spare_M: Singles
    block_GM: Singles
    block_queries_PM: Singles
    block_busy_ms_PM: Singles
    sums_GM: NDArray[np.float64]
    queries_PM: NDArray[np.float64]
    busy_ms_PM: NDArray[np.float64]
    histogram_MB: NDArray[np.int32]


@compiled
def serve_grid(gap_N: Singles, size_N: Ints, factor_N: Singles, rule: GridRule, state: GridState) -> None:
    """Serve the queries (gaps in units of the mean gap) in every scenario, and add up what became of them."""
    block = state.latency_ms_QM.shape[0]
    for start in range(0, gap_N.size, block):
        end = min(start + block, gap_N.size)
        _serve_block(gap_N[start:end], size_N[start:end], factor_N[start:end], rule, state)
        _empty_block(end - start, state)


@compiled
def _serve_block(  # noqa: C901, PLR0912, PLR0915 (a call for each query and path costs as much as what it does)
    gap_N: Singles, size_N: Ints, factor_N: Singles, rule: GridRule, state: GridState
) -> None:
    path_E, tier_E, most_ms_E, least_rate_E = rule.path_E, rule.tier_E, rule.most_ms_E, rule.least_rate_E
    limit_ms_EM, rate_per_ms_EM, passes_E, worth_P = (
        rule.limit_ms_EM,
        rule.rate_per_ms_EM,
        rule.passes_E,
        rule.worth_P,
    )
    device_P, first_D, servers_D = rule.device_P, rule.first_D, rule.servers_D
    service_ms_SP, gap_ms_M, sla_ms_M = rule.service_ms_SP, rule.gap_ms_M, rule.sla_ms_M
    left_ms_VM, latency_ms_QM, chosen_M, spare_M, block_GM, block_queries_PM, block_busy_ms_PM, _, _, _, _ = state
    seen_P, candidate_P = np.full(device_P.size, -1), np.zeros(device_P.size, np.int64)
    lanes, none, one, never = gap_ms_M.size, np.float32(0), np.float32(1), np.float32(np.inf)
    for query in range(gap_N.size):
        gap, factor, size = gap_N[query], factor_N[query], np.float32(size_N[query])
        for row in range(left_ms_VM.shape[0]):
            for lane in range(lanes):
                left_ms_VM[row, lane] = max(none, left_ms_VM[row, lane] - gap * gap_ms_M[lane])
        tier, candidates = -1, 0
        for entry in range(path_E.size - 1, -1, -1):
            path = path_E[entry]
            service_ms = service_ms_SP[size_N[query], path] * factor
            if least_rate_E[entry] * service_ms > size or service_ms > most_ms_E[entry]:
                continue
            row, mark = first_D[device_P[path]], np.float32(path)
            if seen_P[path] != query:
                seen_P[path], candidate_P[candidates], candidates = query, path, candidates + 1
            begins, tier = tier_E[entry] != tier, tier_E[entry]
            # One loop would do for all four; three of them read and write less than that.
            if passes_E[entry] and begins:
                for lane in range(lanes):
                    chosen_M[lane] = mark
                    spare_M[lane] = left_ms_VM[row, lane] + service_ms
            elif passes_E[entry]:
                for lane in range(lanes):
                    done_ms, chosen, best_ms = left_ms_VM[row, lane] + service_ms, chosen_M[lane], spare_M[lane]
                    chosen_M[lane] = mark if done_ms <= best_ms else chosen
                    spare_M[lane] = min(best_ms, done_ms)
            elif begins:
                for lane in range(lanes):
                    done_ms, chosen = left_ms_VM[row, lane] + service_ms, chosen_M[lane]
                    passes = (done_ms <= limit_ms_EM[entry, lane]) & (rate_per_ms_EM[entry, lane] * service_ms <= size)
                    chosen_M[lane] = mark if passes else chosen
                    spare_M[lane] = done_ms if passes else _LATEST_MS
            else:
                for lane in range(lanes):
                    done_ms, chosen, best_ms = left_ms_VM[row, lane] + service_ms, chosen_M[lane], spare_M[lane]
                    passes = (done_ms <= limit_ms_EM[entry, lane]) & (rate_per_ms_EM[entry, lane] * service_ms <= size)
                    tried_ms = done_ms if passes else never
                    chosen_M[lane] = mark if tried_ms <= best_ms else chosen
                    spare_M[lane] = min(best_ms, tried_ms)
        for candidate in range(candidates):
            path = candidate_P[candidate]
            service_ms = service_ms_SP[size_N[query], path] * factor
            row, mark, worth = first_D[device_P[path]], np.float32(path), worth_P[path] * size
            for lane in range(lanes):
                is_own, before_ms, before = chosen_M[lane] == mark, latency_ms_QM[query, lane], spare_M[lane]
                done_ms = left_ms_VM[row, lane] + service_ms
                latency_ms_QM[query, lane] = done_ms if is_own else before_ms
                spare_M[lane] = worth if is_own else before
            for lane in range(lanes):
                is_own, left_ms = chosen_M[lane] == mark, left_ms_VM[row, lane]
                queries, busy_ms = block_queries_PM[path, lane], block_busy_ms_PM[path, lane]
                added_ms = service_ms if is_own else none
                left_ms_VM[row, lane] = left_ms + added_ms
                block_queries_PM[path, lane] = queries + (one if is_own else none)
                block_busy_ms_PM[path, lane] = busy_ms + added_ms
        for device in range(servers_D.size):
            _sort(first_D[device], first_D[device] + servers_D[device], left_ms_VM)
        for lane in range(lanes):
            worth, is_late = spare_M[lane], latency_ms_QM[query, lane] > sla_ms_M[lane]
            late, correct, in_sla = block_GM[LATE_SUM, lane], block_GM[CORRECT_SUM, lane], block_GM[IN_SLA_SUM, lane]
            block_GM[LATE_SUM, lane] = late + (one if is_late else none)
            block_GM[CORRECT_SUM, lane] = correct + worth
            block_GM[IN_SLA_SUM, lane] = in_sla + (none if is_late else worth)


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
    bits_QM, histogram_MB = state.latency_ms_QM.view(np.int32), state.histogram_MB
    last = histogram_MB.shape[1] - 1
    for lane in range(bits_QM.shape[1]):
        for place in range(count):
            bin_ = (bits_QM[place, lane] >> _SHIFT) - GRID_FIRST_BIN
            histogram_MB[lane, min(max(bin_, 0), last)] += 1
    state.sums_GM[:] += state.block_GM
    state.queries_PM[:] += state.block_queries_PM
    state.busy_ms_PM[:] += state.block_busy_ms_PM
    state.block_GM[:] = 0
    state.block_queries_PM[:] = 0
    state.block_busy_ms_PM[:] = 0
