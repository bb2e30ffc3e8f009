"""Why a path is in the plan, and why another is not."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Decision", "Role"]

Role = Literal["hybrid", "table", "between", "compact", "device"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """One step of the algorithm on one device; `candidate` is None where the step chose none.

    Roles: `hybrid` (the best one), `table` (for tight SLAs), `between` (a DHE beside those two), `compact`
    (what fits a small memory), `device` (a device that is left without any path).
    """

    device: str
    role: Role
    candidate: str | None
    reason: str
