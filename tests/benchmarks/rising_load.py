"""The highest rate at which a plan of one path holds its SLA on this machine, found by serving at rising load.

All rates of a pass are served in one session, block after block with a pause between, so that nothing starts anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from serving_sim.plan import Plan
from serving_sim.replay import LiveTrace, Queries, draw_queries, serve_live

__all__ = ["HighestRate", "blocks", "crossing", "find_highest", "halves", "serve_rising"]

_PAUSE_MS = 1000.0
_HALVES_MS = 1000.0
_DRAWS = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class HighestRate:
    """Where the median over passes and halves of them crosses the SLA, with a 95 % interval (bootstrap of halves).

    `found_qps` are the halves' own, 0 where the lowest rate did not hold; `open_ended`: how many never crossed it.
    """

    qps: float
    low_qps: float
    high_qps: float
    found_qps: tuple[float, ...]
    open_ended: int


def blocks(plan: Plan, rates: Sequence[float], seconds: float, seed: int) -> tuple[Queries, NDArray[np.int64]]:
    """Queries at each rate for so many seconds, one block after the other, and each query's block."""
    parts = [
        draw_queries(replace(plan.at(qps=qps), seed=seed + place), max(20, round(qps * seconds)))
        for place, qps in enumerate(rates)
    ]
    starts = np.concatenate(([0.0], np.cumsum([part.arrival_ms_N[-1] + _PAUSE_MS for part in parts])))
    queries = Queries(
        arrival_ms_N=np.concatenate([part.arrival_ms_N + start for part, start in zip(parts, starts, strict=False)]),
        size_N=np.concatenate([part.size_N for part in parts]),
        class_N=np.concatenate([part.class_N for part in parts]),
    )
    return queries, np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def serve_rising(plan: Plan, rates: Sequence[float], seconds: float, seed: int) -> tuple[LiveTrace, NDArray[np.int64]]:
    """Serve a pass; the trace, and each query's place among the rates."""
    queries, block_N = blocks(plan, rates, seconds, seed)
    return serve_live(plan, queries), block_N


def find_highest(
    plan: Plan, rates: Sequence[float], served: Sequence[tuple[LiveTrace, NDArray[np.int64]]]
) -> HighestRate:
    """Where the SLA's percentile crosses the SLA, in each half (seconds by turns) of each pass."""
    load = plan.workload
    rows = []
    for trace, block_N in served:
        half_N = halves(trace.queries.arrival_ms_N, block_N)
        for half in (0, 1):
            masks = [(block_N == place) & (half_N == half) for place in range(len(rates))]
            rows.append([float(np.percentile(trace.latency_ms_N[mask_N], load.percentile)) for mask_N in masks])
    values_HR = np.array(rows)
    rng = np.random.default_rng(0)
    drawn = [_typical(rates, values_HR[rng.integers(len(rows), size=len(rows))], load.sla_ms) for _ in range(_DRAWS)]
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return HighestRate(
        qps=_typical(rates, values_HR, load.sla_ms),
        low_qps=low,
        high_qps=high,
        found_qps=tuple(crossing(rates, row, load.sla_ms) for row in rows),
        open_ended=int(np.sum(values_HR[:, -1] <= load.sla_ms)),
    )


def _typical(rates: Sequence[float], values_HR: NDArray[np.float64], sla_ms: float) -> float:
    """By the median at each rate: a half that a stall of the machine met does not decide."""
    return crossing(rates, np.median(values_HR, axis=0).tolist(), sla_ms)


def halves(arrival_ms_N: NDArray[np.float64], block_N: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which half each query is of: seconds of its block by turns, or the block's two halves where it is shorter."""
    half_N = np.zeros(len(block_N), dtype=np.int64)
    for place in np.unique(block_N):
        is_own_N = block_N == place
        since_ms = arrival_ms_N[is_own_N] - arrival_ms_N[is_own_N].min()
        half_N[is_own_N] = (since_ms // min(_HALVES_MS, since_ms.max() / 2)).astype(np.int64) % 2
    return half_N


def crossing(rates: Sequence[float], latencies_ms: Sequence[float], sla_ms: float) -> float:
    """The rate at which latency reaches the SLA: linear in the log of latency between the last rate that holds and the
    next; the last rate where all hold, 0 where the first does not.

    Latency is taken as rising with the rate (the isotonic fit of its log), so that one bad moment at a low rate, which
    higher ones did not have, does not decide.
    """
    from sklearn.isotonic import IsotonicRegression

    rising_ms = np.exp(IsotonicRegression().fit_transform(rates, np.log(latencies_ms)))
    if rising_ms[0] > sla_ms:
        return 0.0
    points = zip(rates, rising_ms, strict=True)
    for (low, low_ms), (high, high_ms) in pairwise(points):
        if high_ms > sla_ms:
            share = np.log(sla_ms / low_ms) / np.log(high_ms / low_ms)
            return float(low + share * (high - low))
    return float(rates[-1])
