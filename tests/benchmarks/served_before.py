"""What serving makes of service times on this machine: of a known model that is served just before others are asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from serving_sim.paths import service_ms
from serving_sim.plan import LatencyTable, Plan
from serving_sim.replay import calibrate
from tests.benchmarks.rising_load import serve_rising

__all__ = ["ServedBefore", "serve_known"]

_SHARES = (0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedBefore:
    """A known model's latency table and what was observed of it; `late_ms` is by what a query's answer is late besides
    waiting and being served.
    """

    model: str
    tabled: LatencyTable
    observed: LatencyTable
    late_ms: float

    def applied_to(self, table: LatencyTable) -> LatencyTable:
        """Another model's table: slower by as much at each size, with the scatter and the gap that were observed."""
        observed_ms, tabled_ms = (service_ms(one, table.sizes) for one in (self.observed, self.tabled))
        slower = (observed_ms / tabled_ms).tolist()
        mean_ms, low_ms, high_ms = (_risen(one, slower) for one in (table.mean_ms, table.low_ms, table.high_ms))
        return replace(self.observed, sizes=table.sizes, mean_ms=mean_ms, low_ms=low_ms, high_ms=high_ms)


def _risen(values_ms: Sequence[float], slower: Sequence[float]) -> tuple[float, ...]:
    """Times as much, and never less than at a smaller size."""
    times = [value * factor for value, factor in zip(values_ms, slower, strict=False)]
    return tuple(accumulate(times, max))


def serve_known(plan: Plan, most_qps: float, seconds: float, seed: int) -> ServedBefore:
    """Serve a plan of one path for so many seconds at each of a few shares of `most_qps`."""
    trace, _ = serve_rising(plan, [share * most_qps for share in _SHARES], seconds, seed)
    found = calibrate(plan, trace, np.ones(len(trace.queries), dtype=np.bool_))
    return ServedBefore(
        model=plan.paths[0].name,
        tabled=plan.paths[0].latency,
        observed=found.plan.paths[0].latency,
        late_ms=found.dispatch_ms_D[0],
    )
