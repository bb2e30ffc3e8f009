"""Every query takes the same path."""

from dataclasses import dataclass
from typing import ClassVar

from profiles.edge import STRICT
from profiles.errors import UnknownNameError
from serving_sim.kernels import Rule
from serving_sim.policies.policy import RoutingContext, fixed_rule

__all__ = ["Static"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Static:
    """The path named `path`, or the plan's first one."""

    __pydantic_config__: ClassVar = STRICT
    name: ClassVar[str] = "static"
    path: str = ""

    def compile(self, context: RoutingContext) -> Rule:
        """That path, always."""
        names = [path.name for path in context.paths]
        if self.path and self.path not in names:
            raise UnknownNameError("policy.options.path", self.path, names)
        return fixed_rule(names.index(self.path) if self.path else 0)
