"""The highest rate at which a plan of one path holds its SLA on this machine, found by serving at rising load.

All rates of a pass are served in one session, block after block with a pause between, so that nothing starts anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from profiles.units import MS_PER_S
from serving_sim.plan import Plan
from serving_sim.replay import LiveTrace, Queries, draw_queries, serve_live

__all__ = ["HighestRate", "blocks", "crossing", "find_highest", "highest_of", "seconds", "serve_rising"]

Latencies = NDArray[np.float64]

_PAUSE_MS = 500.0
_DRAWS = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class HighestRate:
    """Where the SLA's percentile of all passes' queries crosses the SLA, with a 95 % interval (bootstrap of seconds).

    `found_qps` are the passes' own, 0 where the lowest rate did not hold; `open_ended`: how many never crossed it.
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


def highest_of(plan: Plan, rates: Sequence[float], served: Sequence[tuple[Latencies, NDArray[np.int64]]]) -> float:
    """The same rate for latencies that a simulation gave all passes' queries, each with its place among the rates."""
    pooled = [[latency_ms_N[block_N == place] for latency_ms_N, block_N in served] for place in range(len(rates))]
    return _crossing(rates, pooled, plan)


def find_highest(
    plan: Plan, rates: Sequence[float], served: Sequence[tuple[LiveTrace, NDArray[np.int64]]]
) -> HighestRate:
    """Where the SLA's percentile crosses the SLA, over all passes and in each."""
    load = plan.workload
    passes = [[seconds(trace, block_N == place) for place in range(len(rates))] for trace, block_N in served]
    pooled = _pooled(passes)
    rng = np.random.default_rng(0)
    drawn = [_crossing(rates, [_redrawn(cells, rng) for cells in pooled], plan) for _ in range(_DRAWS)]
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    own_ms = [[_percentile(cells, load.percentile) for cells in own] for own in passes]
    return HighestRate(
        qps=_crossing(rates, pooled, plan),
        low_qps=low,
        high_qps=high,
        found_qps=tuple(crossing(rates, values_ms, load.sla_ms) for values_ms in own_ms),
        open_ended=sum(values_ms[-1] <= load.sla_ms for values_ms in own_ms),
    )


def seconds(trace: LiveTrace, is_own_N: NDArray[np.bool_]) -> list[Latencies]:
    """The latencies of a block of queries, second by second; of the last less than a second's."""
    arrival_ms_N, latency_ms_N = trace.queries.arrival_ms_N[is_own_N], trace.latency_ms_N[is_own_N]
    second_N = ((arrival_ms_N - arrival_ms_N.min()) // MS_PER_S).astype(np.int64)
    return [latency_ms_N[second_N == second] for second in np.unique(second_N)]


def _pooled(passes: Sequence[Sequence[list[Latencies]]]) -> list[list[Latencies]]:
    """Of each rate, the seconds of all passes."""
    return [[one for own in at_rate for one in own] for at_rate in zip(*passes, strict=True)]


def _crossing(rates: Sequence[float], pooled: Sequence[list[Latencies]], plan: Plan) -> float:
    load = plan.workload
    return crossing(rates, [_percentile(cells, load.percentile) for cells in pooled], load.sla_ms)


def _redrawn(cells: Sequence[Latencies], rng: np.random.Generator) -> list[Latencies]:
    return [cells[place] for place in rng.integers(len(cells), size=len(cells))]


def _percentile(cells: Sequence[Latencies], percentile: float) -> float:
    return float(np.percentile(np.concatenate(cells), percentile))


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
