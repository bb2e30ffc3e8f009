"""Serve lanes of one group, and read off what each came to.

Shape suffixes: M lanes, E entries of a rule, P paths, D devices, B histogram bins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.units import MS_PER_S
from serving_sim.class_metrics import holds_percentile
from serving_sim.error_bars import ErrorBar, no_bars, run_bars, sections_of
from serving_sim.grid_groups import Lane, LaneGroup
from serving_sim.histogram import PERCENTILES, bin_edges_ms, rank
from serving_sim.kernels import BINS, FIXED, Ints
from serving_sim.kernels.grid import (
    CORRECT_SUM,
    IN_SLA_SUM,
    LANES,
    LATE_SUM,
    NO_ENTRY,
    SUMS,
    GridRule,
    GridState,
    Singles,
    serve_grid,
)
from serving_sim.verdict import Verdict, verdict_of

__all__ = ["LaneFigures", "serve_lanes"]

_BLOCK = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneFigures:
    """What the counted queries of a lane came to; utilisation is of the whole run."""

    verdict: Verdict
    counted: int
    late: int
    samples: int
    correct: float
    in_sla: float
    duration_s: float
    latency_ms: dict[str, float]
    path_share: tuple[float, ...]
    utilisation: tuple[float, ...]
    error_bars: dict[str, ErrorBar] = field(default_factory=dict)

    def holds(self, percentile: float) -> bool | None:
        """Whether that percentile of the latencies is within the SLA; None where too few queries were counted."""
        return holds_percentile(self.counted, self.late, percentile)


def serve_lanes(group: LaneGroup, lanes: Sequence[Lane], *, intervals: bool = False) -> list[LaneFigures]:
    """The lanes' figures, in their order; with `intervals` also their error bars by the queries drawn."""
    rule, paths = _grid_rule(group, lanes), group.tables.arrays
    chunk, fixed = group.chunk, lanes[0].rule.kind == FIXED
    gap_N = chunk.gap_N.astype(np.float32)
    factor_N = np.ones_like(gap_N)
    if fixed:
        factor_N = chunk.factor_KN[paths.spread_P[lanes[0].rule.path_E[0]]].astype(np.float32)
    queries, warmup = len(gap_N), group.warmup
    sections, section_queries = sections_of(queries - warmup) if intervals else (0, 1)
    histogram_KMB = np.zeros((sections + 1, len(lanes), BINS), dtype=np.int32)
    late_KM = np.zeros((sections + 1, len(lanes)))
    state = _new_state(rule, histogram_KMB[0])

    def serve(first: int, end: int, section: int) -> None:
        into = state._replace(histogram_MB=histogram_KMB[section])
        serve_grid(gap_N[first:end], chunk.size_N[first:end], factor_N[first:end], rule, into)

    serve(0, warmup, 0)
    for counted in (state.sums_GM, state.queries_PM, state.histogram_MB):
        counted[:] = 0
    ends = [*(warmup + place * section_queries for place in range(sections + 1)), queries]
    for section, (first, end) in enumerate(pairwise(ends)):
        before_M = state.sums_GM[LATE_SUM].copy()
        serve(first, end, section)
        late_KM[section] = state.sums_GM[LATE_SUM] - before_M
    figures = _figures(group, lanes, state, histogram_KMB.sum(axis=0, dtype=np.int32))
    return _with_bars(figures, histogram_KMB, np.diff(ends), late_KM) if intervals else figures


def _with_bars(
    figures: Sequence[LaneFigures], histogram_KMB: NDArray[np.int32], counted_K: Ints, late_KM: NDArray[np.float64]
) -> list[LaneFigures]:
    """The figures with their error bars; a lane whose backlog grows has none."""
    done = len(counted_K) - 1
    return [
        replace(
            one,
            error_bars=no_bars()
            if one.verdict == "overloaded"
            else run_bars(histogram_KMB[:, lane], counted_K, late_KM[:, lane], one.latency_ms, done),
        )
        for lane, one in enumerate(figures)
    ]


def _grid_rule(group: LaneGroup, lanes: Sequence[Lane]) -> GridRule:
    paths, rule = group.tables.arrays, lanes[0].rule
    limit_ms_EM = _singles(np.stack([lane.rule.limit_ms_CE[0] for lane in lanes], axis=1))
    rate_per_ms_EM = _singles(np.stack([lane.rule.rate_per_ms_E for lane in lanes], axis=1))
    passes_E = np.asarray((np.isinf(limit_ms_EM) & (rate_per_ms_EM <= 0)).all(axis=1))
    one_X, other_X = _pairs(rule.tier_E)
    return GridRule(
        one_X=one_X,
        other_X=other_X,
        is_whole_X=np.bincount(rule.tier_E)[rule.tier_E[one_X]] <= 2,
        path_E=rule.path_E,
        tier_E=rule.tier_E,
        limit_ms_EM=limit_ms_EM,
        rate_per_ms_EM=rate_per_ms_EM,
        most_ms_E=limit_ms_EM.max(axis=1),
        least_rate_E=rate_per_ms_EM.min(axis=1),
        most_rate_E=rate_per_ms_EM.max(axis=1),
        passes_E=passes_E,
        device_P=paths.device_P,
        mark_P=_singles(np.argsort(np.argsort(paths.device_P, kind="stable"))),
        end_D=_singles(np.cumsum(np.bincount(paths.device_P, minlength=len(paths.servers_D)))),
        first_D=np.cumsum(paths.servers_D) - paths.servers_D,
        servers_D=paths.servers_D,
        worth_P=_singles(paths.accuracy_P),
        service_ms_SP=_singles(paths.service_ms_SP),
        gap_ms_M=_singles(MS_PER_S / np.array([lane.qps for lane in lanes])),
        sla_ms_M=_singles(np.array([lane.sla_ms for lane in lanes])),
    )


def _pairs(tier_E: Ints) -> tuple[Ints, Ints]:
    """Neighbours of a tier two by two, the last first; an odd one out has no partner."""
    pairs: list[tuple[int, int]] = []
    for tier in sorted(set(tier_E.tolist())):
        entries = np.flatnonzero(tier_E == tier).tolist()
        pairs += zip_longest(entries[::2], entries[1::2], fillvalue=NO_ENTRY)
    one_X, other_X = np.array(pairs[::-1], dtype=np.int64).T.copy()
    return one_X, other_X


def _new_state(rule: GridRule, histogram_MB: NDArray[np.int32]) -> GridState:
    def room(*shape: int) -> Singles:
        return np.zeros(shape, dtype=np.float32)

    paths, devices, lanes = len(rule.device_P), len(rule.servers_D), len(histogram_MB)
    left_ms_VM = room(int(rule.servers_D.sum()) + 1, lanes)
    left_ms_VM[-1] = np.inf
    return GridState(
        left_ms_VM=left_ms_VM,
        taken_L=room(4 * LANES),
        bin_QM=np.zeros((_BLOCK, lanes), dtype=np.int16),
        block_L=room(SUMS * LANES),
        block_queries_PM=room(paths, lanes),
        block_busy_ms_DM=room(devices, lanes),
        sums_GM=np.zeros((SUMS, lanes)),
        queries_PM=np.zeros((paths, lanes)),
        busy_ms_DM=np.zeros((devices, lanes)),
        histogram_MB=histogram_MB,
    )


def _figures(
    group: LaneGroup, lanes: Sequence[Lane], state: GridState, histogram_MB: NDArray[np.int32]
) -> list[LaneFigures]:
    chunk, paths, warmup = group.chunk, group.tables.arrays, group.warmup
    queries = len(chunk.gap_N)
    counted = queries - warmup
    first, last = float(chunk.gap_N[: warmup + 1].sum()), float(chunk.gap_N.sum())
    samples = int(chunk.size_N[warmup:].sum())
    latency_ms = _percentiles(histogram_MB, counted)
    figures = []
    for place, lane in enumerate(lanes):
        gap_ms = MS_PER_S / lane.qps
        drain_ms = float(state.left_ms_VM[:-1, place].max())
        span_ms = last * gap_ms + drain_ms
        utilisation = state.busy_ms_DM[:, place] / (paths.servers_D * max(span_ms, 1e-300))
        figures.append(
            LaneFigures(
                verdict=verdict_of(float(utilisation.max()), drain_ms, last * gap_ms, lane.sla_ms, queries),
                counted=counted,
                late=int(state.sums_GM[LATE_SUM, place]),
                samples=samples,
                correct=float(state.sums_GM[CORRECT_SUM, place]),
                in_sla=float(state.sums_GM[IN_SLA_SUM, place]),
                duration_s=max(span_ms - first * gap_ms, 1e-300) / MS_PER_S,
                latency_ms={name: float(values[place]) for name, values in latency_ms.items()},
                path_share=tuple((state.queries_PM[:, place] / counted).tolist()),
                utilisation=tuple(utilisation.tolist()),
            )
        )
    return figures


def _percentiles(histogram_MB: NDArray[np.int32], counted: int) -> dict[str, NDArray[np.float64]]:
    """Of each lane, as the middle of their bin."""
    filled = np.flatnonzero(histogram_MB.any(axis=0))
    first = int(filled[0])
    below_MB = np.cumsum(histogram_MB[:, first : int(filled[-1]) + 1], axis=1)
    edges_ms = bin_edges_ms()
    found = {}
    for name, percentile in PERCENTILES.items():
        bin_M = first + (below_MB <= rank(percentile, counted)).sum(axis=1)
        found[name] = (edges_ms[bin_M] + edges_ms[bin_M + 1]) / 2
    return found


def _singles(values: NDArray[Any]) -> Singles:
    return np.ascontiguousarray(values, dtype=np.float32)
