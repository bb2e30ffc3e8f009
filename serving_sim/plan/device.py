"""A device that serves, and when it does not."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from profiles.edge import STRICT
from profiles.errors import InputError
from serving_sim.plan.checks import require_at_least, require_positive

__all__ = ["MOST_SERVERS", "Device", "Outage"]

# Wide of any real system.
MOST_SERVERS = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    """A time (seconds from the run's start) during which all servers of a device are down."""

    __pydantic_config__: ClassVar = STRICT
    start_s: float
    end_s: float

    def __post_init__(self) -> None:
        require_at_least("start_s", self.start_s, 0)
        require_at_least("end_s", self.end_s, 0)
        if self.end_s <= self.start_s:
            raise InputError(f"end_s: must be after start_s = {self.start_s}, but got {self.end_s}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """A device that serves: `servers` queries at a time, first come first served.

    One in the state `failed` serves nothing for the whole run. With `mtbf_s` each server fails after an exponential
    time of that mean, and is back after one of mean `repair_s`. Until `warm_up_s` after its start and after each
    repair a server takes `warm_up_factor` times as long. A failure is known `detection_s` later, or with the repair;
    then the queries that it cut off are routed anew (`redispatch`), as are those that wait where all servers are down,
    or wait for the device, first in line (`restart`).
    """

    __pydantic_config__: ClassVar = STRICT
    name: str
    kind: str = ""
    title: str = ""
    servers: int = 1
    memory_bytes: int | None = None
    price_per_hour: float | None = None
    busy_w: float | None = None
    idle_w: float | None = None
    state: Literal["up", "failed"] = "up"
    mtbf_s: float | None = None
    repair_s: float | None = None
    outages: tuple[Outage, ...] = ()
    warm_up_s: float = 0.0
    warm_up_factor: float = 1.0
    detection_s: float = 0.0
    on_failure: Literal["redispatch", "restart"] = "redispatch"

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("name: must not be empty")
        if self.servers < 1:
            raise InputError(f"servers: must be >= 1, but got {self.servers} ({self.name})")
        if self.servers > MOST_SERVERS:
            raise InputError(f"servers: must be <= {MOST_SERVERS}, but got {self.servers} ({self.name})")
        for name in ("price_per_hour", "busy_w", "idle_w", "warm_up_s", "detection_s"):
            require_at_least(name, getattr(self, name), 0, self.name)
        require_at_least("warm_up_factor", self.warm_up_factor, 1, self.name)
        if (self.mtbf_s is None) != (self.repair_s is None):
            raise InputError(f"mtbf_s: goes with repair_s, and either needs the other ({self.name})")
        for name in ("mtbf_s", "repair_s"):
            if (value := getattr(self, name)) is not None:
                require_positive(name, value, self.name)
        for before, after in pairwise(self.outages):
            if after.start_s < before.end_s:
                raise InputError(
                    f"outages: must come one after the other, but one starts at {after.start_s} s, "
                    f"before {before.end_s} s ({self.name})"
                )
