"""Queries in parts: each device serves some of a query's samples, and the query ends with the last part."""

from dataclasses import dataclass
from typing import ClassVar

from profiles.edge import STRICT
from profiles.errors import InputError, UnknownNameError
from serving_sim.kernels import Rule
from serving_sim.policies.policy import TABLE, RoutingContext, split_rule

__all__ = ["EVEN", "MODES", "PROPORTIONAL", "Split"]

EVEN, PROPORTIONAL = "even", "proportional"
MODES = (EVEN, PROPORTIONAL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """Each query takes one path of `representation` per device, the quickest there at its largest measured size.

    `mode` shares the samples out evenly, or in proportion to the speed of the paths at the query's size. No part has
    fewer samples than `smallest_part`, so that small queries take fewer paths, the quickest first. A query whose parts
    take paths of different accuracy counts with the lowest.
    """

    __pydantic_config__: ClassVar = STRICT
    name: ClassVar[str] = "split"
    mode: str = EVEN
    representation: str = TABLE
    smallest_part: int = 1

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UnknownNameError("mode", self.mode, MODES)
        if self.smallest_part < 1:
            raise InputError(f"smallest_part: must be >= 1, but got {self.smallest_part}")

    def compile(self, context: RoutingContext) -> Rule:
        """The quickest path of each device, the quickest device first."""
        kinds = {path.representation for path in context.paths}
        if self.representation not in kinds:
            raise UnknownNameError("policy.options.representation", self.representation, sorted(kinds))
        quickest: dict[str, tuple[float, int]] = {}
        for place, path in enumerate(context.paths):
            if path.representation == self.representation:
                per_sample_ms = path.latency.mean_ms[-1] / path.latency.sizes[-1]
                quickest[path.device] = min(quickest.get(path.device, (per_sample_ms, place)), (per_sample_ms, place))
        paths = [place for _, place in sorted(quickest.values())]
        return split_rule(
            paths, context.servers_of_path, by_speed=self.mode == PROPORTIONAL, smallest=self.smallest_part
        )
