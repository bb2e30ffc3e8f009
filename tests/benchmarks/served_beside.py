"""What serving makes of service times on this machine: of known models that are served in turn with another."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from serving_sim.paths import service_ms
from serving_sim.plan import LatencyTable, Plan
from serving_sim.replay import LiveTrace, Queries, calibrate
from tests.benchmarks.rising_load import serve_rising

__all__ = ["ServedBeside", "as_served", "joined", "late_ms_of", "nearest_to", "observe", "serve_known"]

Floats = NDArray[np.float64]

_SHARES = (0.3, 0.5, 0.7, 0.9)
_APART_MS = 1000.0
_USUAL_SIZE = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedBeside:
    """A known model's latency table and what was observed of it.

    `late_ms` is by what a query's answer is late besides waiting and being served, `size_N` the sizes of the queries,
    `residual_N` observed over fitted service time of them in their order.
    """

    model: str
    tabled: LatencyTable
    observed: LatencyTable
    late_ms: float
    size_N: NDArray[np.int64]
    residual_N: Floats

    def slower(self, sizes: Sequence[int]) -> Floats:
        """Observed over tabled service time, its log a parabola in that of the size fitted to all queries.

        A size that few queries had has no say of its own. Beyond the middle 99 % of queries it stays what it is at
        their end.
        """
        observed_ms, tabled_ms = (service_ms(one, self.size_N) for one in (self.observed, self.tabled))
        curve = Polynomial.fit(np.log(self.size_N), np.log(observed_ms / tabled_ms), deg=2)
        factors: Floats = np.exp(curve(np.log(np.clip(sizes, *np.quantile(self.size_N, (0.005, 0.995))))))
        return factors


def as_served(table: LatencyTable, beside: Sequence[ServedBeside]) -> LatencyTable:
    """Another model's table, slower by as much as known models were.

    Between two of them by the logs of their latencies at the usual size, as the nearer one beyond; scatter and the gap
    after idleness are those of the nearer one.
    """
    order, place = _order(table, beside)
    logs_KS = np.log([one.slower(table.sizes) for one in order])
    low, share = int(place), place % 1
    slower = np.exp(logs_KS[low] + share * (logs_KS[min(low + 1, len(order) - 1)] - logs_KS[low])).tolist()
    mean_ms, low_ms, high_ms = (_risen(one, slower) for one in (table.mean_ms, table.low_ms, table.high_ms))
    nearest = order[round(place)]
    return replace(nearest.observed, sizes=table.sizes, mean_ms=mean_ms, low_ms=low_ms, high_ms=high_ms)


def nearest_to(table: LatencyTable, beside: Sequence[ServedBeside]) -> ServedBeside:
    """The known model whose latency at the usual size is nearest."""
    order, place = _order(table, beside)
    return order[round(place)]


def late_ms_of(beside: Sequence[ServedBeside]) -> float:
    """The dispatch, which does not depend on the model: the mean."""
    return float(np.mean([one.late_ms for one in beside]))


def _order(table: LatencyTable, beside: Sequence[ServedBeside]) -> tuple[list[ServedBeside], float]:
    """The known models by latency, and where among them the table is."""
    order = sorted(beside, key=lambda one: _usual_ms(one.tabled))
    at = np.log([_usual_ms(one.tabled) for one in order])
    return order, float(np.interp(np.log(_usual_ms(table)), at, np.arange(len(order))))


def _usual_ms(table: LatencyTable) -> float:
    return float(service_ms(table, [_USUAL_SIZE])[0])


def _risen(values_ms: Sequence[float], slower: Sequence[float]) -> tuple[float, ...]:
    """Times as much, and never less than at a smaller size."""
    times = [value * factor for value, factor in zip(values_ms, slower, strict=False)]
    return tuple(accumulate(times, max))


def serve_known(plan: Plan, most_qps: float, seconds: float, seed: int) -> LiveTrace:
    """Serve a plan of one path for so many seconds at each of a few shares of `most_qps`."""
    return serve_rising(plan, [share * most_qps for share in _SHARES], seconds, seed)[0]


def observe(plan: Plan, traces: Sequence[LiveTrace]) -> ServedBeside:
    """What was served of the plan, all traces together."""
    trace = joined(traces)
    found = calibrate(plan, trace, np.ones(len(trace.queries), dtype=np.bool_))
    return ServedBeside(
        model=plan.paths[0].name,
        tabled=plan.paths[0].latency,
        observed=found.plan.paths[0].latency,
        late_ms=found.dispatch_ms_D[0],
        size_N=trace.queries.size_N,
        residual_N=found.residual_D[0],
    )


def joined(traces: Sequence[LiveTrace]) -> LiveTrace:
    """One trace after the other, each beginning well after all before it was done."""
    ends_ms = [float(np.nanmax(trace.finish_ms_N)) + _APART_MS for trace in traces]
    starts_ms = np.concatenate(([0.0], np.cumsum(ends_ms)[:-1])).tolist()
    parts = list(zip(traces, starts_ms, strict=True))
    queries = Queries(
        arrival_ms_N=np.concatenate([trace.queries.arrival_ms_N + start_ms for trace, start_ms in parts]),
        size_N=np.concatenate([trace.queries.size_N for trace in traces]),
        class_N=np.concatenate([trace.queries.class_N for trace in traces]),
    )
    return LiveTrace(
        queries=queries,
        path_N=np.concatenate([trace.path_N for trace in traces]),
        sent_ms_N=np.concatenate([trace.sent_ms_N + start_ms for trace, start_ms in parts]),
        start_ms_N=np.concatenate([trace.start_ms_N + start_ms for trace, start_ms in parts]),
        finish_ms_N=np.concatenate([trace.finish_ms_N + start_ms for trace, start_ms in parts]),
    )
