"""What a replay's times say of a device: who found it idle, for how long, and what sending a query costs.

Shape suffixes: N queries of one device, in the order in which they came.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serving_sim.plan import Plan
from serving_sim.replay.live import LiveTrace

__all__ = ["DeviceTimes", "device_times"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DeviceTimes:
    """The served queries of a device (`query_N`: their places in the trace).

    `found_idle_N`: a server was free when the query came; `waited_N`: none was when it could have begun. `idle_ms_N`:
    for how long none of a lone server's queries had been served before (0 for those that found it busy; NaN on several
    servers, of which the trace does not tell). `delay_ms_N`: from the arrival to the start for those that found a
    server idle, from the finish before to the start for the others. `return_ms_N`: from the finish until the answer is
    back.
    """

    query_N: NDArray[np.int64]
    found_idle_N: NDArray[np.bool_]
    waited_N: NDArray[np.bool_]
    idle_ms_N: Floats
    delay_ms_N: Floats
    return_ms_N: Floats

    @property
    def dispatch_ms(self) -> float:
        """Median time until a query that finds a server idle begins (generator, router, waking up), and back."""
        return _median(self.delay_ms_N[self.found_idle_N]) + _median(self.return_ms_N)

    @property
    def handover_ms(self) -> float:
        """Median time between two queries on a server that is not idle."""
        return _median(self.delay_ms_N[self.waited_N])


def device_times(plan: Plan, trace: LiveTrace, device: int) -> DeviceTimes:
    """What the trace says of one of the plan's devices."""
    of_path = np.array([plan.device_of(path) == device for path in plan.paths])
    query_N = np.flatnonzero((trace.path_N >= 0) & of_path[trace.path_N])
    servers = plan.devices[device].servers
    sent_N, start_N, arrival_N = (
        times[query_N] for times in (trace.sent_ms_N, trace.start_ms_N, trace.queries.arrival_ms_N)
    )
    finished = np.sort(trace.finish_ms_N[query_N])
    done_N = np.searchsorted(finished, sent_N, side="right")
    found_idle_N = np.arange(len(query_N)) - done_N < servers
    before_N = np.searchsorted(finished, start_N, side="right") - 1
    last_finish_N = np.where(before_N >= 0, finished[np.maximum(before_N, 0)], np.nan) if len(finished) else start_N
    idle_ms_N = np.where(found_idle_N, np.maximum(arrival_N - np.nan_to_num(last_finish_N), 0.0), 0.0)
    could_begin_N = arrival_N + _median((start_N - arrival_N)[found_idle_N])
    return DeviceTimes(
        query_N=query_N,
        found_idle_N=found_idle_N,
        waited_N=~found_idle_N & (last_finish_N > could_begin_N),
        idle_ms_N=idle_ms_N if servers == 1 else np.full(len(query_N), np.nan),
        delay_ms_N=np.where(found_idle_N, start_N - arrival_N, start_N - last_finish_N),
        return_ms_N=arrival_N + trace.latency_ms_N[query_N] - trace.finish_ms_N[query_N],
    )


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else 0.0
