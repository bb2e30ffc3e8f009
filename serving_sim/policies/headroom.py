"""Accuracy out of the queue's headroom alone: paths by what they earn, less the price of device time."""

import math
from dataclasses import dataclass
from typing import ClassVar

from profiles.edge import STRICT
from profiles.errors import InputError
from serving_sim.kernels import Rule
from serving_sim.policies.policy import RoutingContext, priced_rule

__all__ = ["Headroom"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Headroom:
    """Of the paths that may hold the SLA, the one with the most `accuracy x size x chance - charge x service -
    blocking`; of those that earn as much but for 0.003 % of the samples, the earliest.

    `chance` is how likely the query is in time: by how the path's service scatters (its table's `spread` and `sigma`)
    about the mean, after the wait that is expected. Without scatter it is 1 or 0.

    Nothing but the latency tables is known beforehand. The price of a device's time is that of the fluid program of
    the last queries (`memory_queries`, older ones fading: their sizes, classes and rate), learned as they come, with
    service times corrected by those observed. It is weighted by the device's wait, as a share of the SLA (of the
    shortest that any path holds, where classes differ: whoever waits makes them wait who are in more of a hurry):

        charge = max(min(price x (idle_share + wait_weight x wait) + losses, max(price, crowded)),
                     crowd x crowded x wait^2)

    `crowded` is the price at `crowded_load` times the capacity, and crowd (at most 1) is `crowd_weight` times the wait
    at the least crowded device, averaged over the last queries. So an idle device is cheap whatever the load was, a
    full one goes to those that are worth most per ms, and where queues are short that second price counts for little.
    `losses` are four times the samples per ms that were refused lately (2 % of `crowded` at most): where any are,
    device time is too dear for a little accuracy.

    `blocking` is what the service costs those who come while it lasts. A class whose queries bear no wait as long as
    the service ends later than now loses, on that server, what comes meanwhile, unless other servers hold it: it
    counts with the likelihood that these are as full, twice.

    A query is refused where no path can hold the SLA or none earns anything; with `refuse` off, the first then take
    the path that is done earliest, and the others the one that loses least.
    """

    __pydantic_config__: ClassVar = STRICT
    name: ClassVar[str] = "headroom"
    wait_weight: float = 2.0
    idle_share: float = 0.2
    crowded_load: float = 4.0
    crowd_weight: float = 2.0
    memory_queries: int = 4_000
    refuse: bool = True

    def __post_init__(self) -> None:
        for name in ("wait_weight", "idle_share", "crowded_load", "crowd_weight"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise InputError(f"{name}: must be finite and >= 0, but got {value}")
        if self.memory_queries < 100:
            raise InputError(f"memory_queries: must be >= 100, but got {self.memory_queries}")

    def compile(self, context: RoutingContext) -> Rule:
        """All paths, priced."""
        options = (self.wait_weight, self.idle_share, self.crowded_load, self.crowd_weight)
        return priced_rule(context, (*options, self.memory_queries, float(self.refuse), 1 / _urgent_ms(context)))


def _urgent_ms(context: RoutingContext) -> float:
    """The shortest SLA that a path can hold; the shortest of all where none holds any."""
    tables = [path.latency for path in context.paths]
    fastest_ms = min(min(row) for table in tables for row in (table.mean_ms, *table.mean_by_miss_share_ms))
    return min([sla_ms for sla_ms in context.limits_ms if sla_ms >= fastest_ms] or context.limits_ms)
