"""The fastest path that is accurate enough."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

from profiles.edge import STRICT
from profiles.errors import InputError
from serving_sim.kernels import Rule
from serving_sim.policies.policy import Entry, RoutingContext, tiered_rule

__all__ = ["AccuracyFloor"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AccuracyFloor:
    """The path of at least accuracy `floor` with the earliest expected completion (backlog plus mean service).

    Where the plan has none, the most accurate paths stand in, with a warning. With `fall_back`, a query that none of
    these would finish within the SLA takes the path with the earliest completion of all, however accurate.
    """

    __pydantic_config__: ClassVar = STRICT
    name: ClassVar[str] = "accuracy-floor"
    floor: float = 0.0
    fall_back: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.floor <= 1:
            raise InputError(f"floor: must be in [0, 1], but got {self.floor}")

    def compile(self, context: RoutingContext) -> Rule:
        """The accurate paths, and behind them all paths where `fall_back` says so."""
        accuracies = [path.accuracy for path in context.paths]
        floor = min(self.floor, max(accuracies))
        if floor < self.floor:
            warnings.warn(
                f"policy.options.floor: no path reaches {self.floor:g}; the most accurate ({floor:g}) stand in",
                stacklevel=2,
            )
        accurate = [path for path, accuracy in enumerate(accuracies) if accuracy >= floor]
        if not self.fall_back:
            return tiered_rule([Entry(path=path) for path in accurate], context.servers_of_path)
        first = [Entry(path=path, limit_ms=context.limits_ms) for path in accurate]
        behind = [Entry(path=path, tier=1) for path in range(len(accuracies))]
        return tiered_rule(first + behind, context.servers_of_path)
