"""What was measured of one module, as plain data: what a share of a profile sends home."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from profiles.kernel_time import KernelTime
from profiles.model_profile import CallProfile
from profiles.profilers.protocol import Figure
from profiles.records import ComponentProfile

__all__ = ["ModulePart", "ProfilePart"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModulePart:
    """One module in one phase, with nothing yet from its children.

    `index` and `parent` are places in the tree. `own` is the row of what it does outside its children, None where it
    has none. `is_aggregated` tells that the row, which is then a skipped one, may be summed from its children's.
    """

    index: int
    parent: int | None
    row: ComponentProfile
    own: ComponentProfile | None = None
    is_aggregated: bool = False
    calls: tuple[CallProfile, ...] = ()
    kernels: tuple[KernelTime, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfilePart:
    """Some modules of a profile; `profiles.walk.merge_parts` makes a profile of the parts of all."""

    name: str
    modules: tuple[ModulePart, ...]
    profile_seconds: float
    figures: tuple[Figure, ...] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
