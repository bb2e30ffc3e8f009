"""When a sweep has measured enough."""

from dataclasses import dataclass

from profiles.errors import InputError

__all__ = ["SamplingBudget"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplingBudget:
    """The error that is good enough, and what may be spent on each kind of component and device to reach it.

    `goal` is a mean absolute relative error of shapes held out. `seconds` are those of measuring; a round that has
    begun is finished. `first` points fill the space of each family before any is judged.
    """

    goal: float = 0.05
    points: int = 450
    seconds: float = 120.0
    first: int = 24

    def __post_init__(self) -> None:
        for name in ("goal", "seconds"):
            if not getattr(self, name) > 0:
                raise InputError(f"sampling: {name} must be > 0, but got {getattr(self, name)}")
        for name in ("points", "first"):
            if getattr(self, name) < 1:
                raise InputError(f"sampling: {name} must be >= 1, but got {getattr(self, name)}")
