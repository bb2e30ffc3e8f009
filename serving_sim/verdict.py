"""What a run says of the load: whether the plan can serve it for good.

A device's demand is the share of the time that it is busy over the share of the queries that were served: what it would
be if those refused had taken as much of it as the others. The backlog is the drain, the time from the last arrival
until the last finish.
- `overloaded`: a device's demand is above 90 %, and more than 1 % of the queries were refused, or the backlog exceeds
  the SLA and 1 % of the run: it grows; or more than half of the queries were refused, or more were in the system than
  it holds;
- `near-saturation`: a device's demand is above 90 % else; or no demand is, but the run ends in a backlog that exceeds
  the SLA, 1 % of the run, and what two standard deviations of so many Poisson arrivals may leave: the last spike has
  not drained, and those who would have come behind it are in no figure;
- `stable`: else.

The verdict says nothing of the SLA: a stable run may be late for other reasons.
"""

import math
from typing import Literal

from serving_sim import kernels
from serving_sim.run import Run

__all__ = ["Verdict", "ends_in_backlog", "undrained_ms", "verdict_of", "verdict_of_run"]

Verdict = Literal["stable", "near-saturation", "overloaded"]
_GROWTH_SHARE, _BUSY_SHARE, _MOST_REFUSED = 0.01, 0.9, 0.5
_CHANCE_SIGMAS = 2.0


def verdict_of(
    busiest: float, drain_ms: float, last_arrival_ms: float, sla_ms: float, queries: int, refused_share: float = 0.0
) -> Verdict:
    """The verdict on the busiest device's busy share, the work left at the last arrival, and the queries refused."""
    if refused_share > _MOST_REFUSED:
        return "overloaded"
    if busiest <= _BUSY_SHARE * (1.0 - refused_share):
        return "near-saturation" if ends_in_backlog(drain_ms, last_arrival_ms, sla_ms, queries) else "stable"
    grows = drain_ms > max(sla_ms, _GROWTH_SHARE * last_arrival_ms)
    return "overloaded" if grows or refused_share > _GROWTH_SHARE else "near-saturation"


def ends_in_backlog(drain_ms: float, last_arrival_ms: float, sla_ms: float, queries: int) -> bool:
    """Whether so many queries leave more work at the last arrival than chance does."""
    share = max(_GROWTH_SHARE, _CHANCE_SIGMAS / math.sqrt(queries))
    return drain_ms > max(sla_ms, share * last_arrival_ms)


def verdict_of_run(run: Run, busiest: float, refused_share: float) -> Verdict:
    """The verdict on a run, of whose devices the busiest is so busy."""
    if run.overflow:
        return "overloaded"
    last_arrival_ms, queries = float(run.queues.clock_ms[0]), int(run.totals.counts[kernels.ARRIVED])
    drain_ms = float(run.totals.sums[kernels.LAST_FINISH_MS]) - last_arrival_ms
    return verdict_of(busiest, drain_ms, last_arrival_ms, run.sla_ms, queries, refused_share)


def undrained_ms(run: Run) -> float:
    """The backlog (ms) in which a run ends; 0 where it is no more than chance leaves."""
    last_arrival_ms, queries = float(run.queues.clock_ms[0]), int(run.totals.counts[kernels.ARRIVED])
    drain_ms = float(run.totals.sums[kernels.LAST_FINISH_MS]) - last_arrival_ms
    return drain_ms if ends_in_backlog(drain_ms, last_arrival_ms, run.sla_ms, queries) else 0.0
