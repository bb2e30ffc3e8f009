"""Queries of one path served together, up to a number of samples."""

import math
from dataclasses import dataclass
from typing import ClassVar

from profiles.edge import STRICT
from profiles.errors import InputError, UnknownNameError
from serving_sim.kernels import Rule
from serving_sim.policies.mp_rec import MpRec
from serving_sim.policies.policy import Policy, RoutingContext, batched_rule
from serving_sim.policies.static import Static
from serving_sim.policies.table_switch import TableSwitch

__all__ = ["Batching"]

_ROUTINGS: dict[str, type[Policy]] = {policy.name: policy for policy in (Static, TableSwitch, MpRec)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Batching:
    """Queries take paths as `routing` says, then queue to be served in batches of up to `most_samples`.

    A batch is the oldest query of a device's queue and those right behind it that take the same path. It starts when a
    server is free and it is full, or its oldest query has waited `wait_ms`; a query of more samples is one by itself.
    It takes what the path's latency table says of its samples in all. `path` names the only path to take.
    """

    __pydantic_config__: ClassVar = STRICT
    name: ClassVar[str] = "batching"
    routing: str = TableSwitch.name
    path: str = ""
    most_samples: int = 1024
    wait_ms: float = 1.0

    def __post_init__(self) -> None:
        if self.routing not in _ROUTINGS:
            raise UnknownNameError("routing", self.routing, _ROUTINGS)
        if self.most_samples < 1:
            raise InputError(f"most_samples: must be >= 1, but got {self.most_samples}")
        if not (self.wait_ms >= 0 and math.isfinite(self.wait_ms)):
            raise InputError(f"wait_ms: must be finite and >= 0, but got {self.wait_ms}")

    def compile(self, context: RoutingContext) -> Rule:
        """The rule of `routing`, with batches."""
        policy = Static(path=self.path) if self.path else _ROUTINGS[self.routing]()
        return batched_rule(policy.compile(context), samples=self.most_samples, wait_ms=self.wait_ms)
