"""Tables only, on whichever device is done first: the switching baseline of MP-Rec."""

from dataclasses import dataclass
from typing import ClassVar

from profiles.edge import STRICT
from serving_sim.kernels import Rule
from serving_sim.policies.policy import Entry, RoutingContext, table_paths, tiered_rule

__all__ = ["TableSwitch"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TableSwitch:
    """The table path with the earliest expected completion (backlog plus mean service); any path where no table is."""

    __pydantic_config__: ClassVar = STRICT
    name: ClassVar[str] = "table-switch"

    def compile(self, context: RoutingContext) -> Rule:
        """The earliest of the table paths."""
        entries = [Entry(path=path) for path in table_paths(context.paths)]
        return tiered_rule(entries, context.servers_of_path)
