"""What to profile of a model, and how long."""

from dataclasses import dataclass
from pathlib import Path

from profiles.errors import InputError
from profiles.timing import TimingOptions

__all__ = ["ProfileOptions", "ProfileProgress"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileOptions:
    """Which modules are run alone, in which ways, and how long each is visited.

    `max_depth`: the model itself is 0, None for all. `threads`: None for as many as torch has. `cold`: also with swept
    caches; `backward`: also the backward pass. `include` are globs on paths (the model's own is empty), `classes` names
    of classes; where given, only what matches is run alone. So is only what takes at least `min_share` of the model's
    time in the passes timed before. The rows of all others say so and keep their time in the model.

    A module is visited at least `visits` times, and again until the 95 % interval of its latency is at most `interval`
    of it to either side, it was visited twenty times as often, or all visits together took `budget_s` (None: a third
    longer than the first rounds).
    With `quiet_core`, what is timed on a processor waits for a core whose probe (`profiles.core_probe`) is within that
    share of its least, for at most `patience_s` in all; what was timed beside a neighbour counts as contended.
    `folder` is where profilers leave their files.
    """

    max_depth: int | None = None
    threads: int | None = None
    visits: int = 3
    samples_per_visit: int = 1
    seconds_per_visit: float = 0.002
    cold: bool = False
    backward: bool = False
    include: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    min_share: float = 0.0
    interval: float = 0.05
    budget_s: float | None = None
    quiet_core: float | None = None
    patience_s: float = 5.0
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.max_depth is not None and self.max_depth < 0:
            raise InputError(f"profile: max_depth must be >= 0, but got {self.max_depth}")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"profile: threads must be >= 1, but got {self.threads}")
        if not 0 <= self.min_share <= 1:
            raise InputError(f"profile: min_share must be in 0 to 1, but got {self.min_share}")
        if not self.interval > 0:
            raise InputError(f"profile: interval must be > 0, but got {self.interval}")
        if self.budget_s is not None and not self.budget_s >= 0:
            raise InputError(f"profile: budget_s must be >= 0, but got {self.budget_s}")
        if self.quiet_core is not None and not self.quiet_core > 0:
            raise InputError(f"profile: quiet_core must be > 0, but got {self.quiet_core}")
        if not self.patience_s >= 0:
            raise InputError(f"profile: patience_s must be >= 0, but got {self.patience_s}")
        _ = self.timing

    @property
    def timing(self) -> TimingOptions:
        """The part that times one visit; validates its values."""
        return TimingOptions(
            visits=self.visits,
            seconds_per_visit=self.seconds_per_visit,
            min_samples=self.samples_per_visit,
            max_samples=max(50, self.samples_per_visit),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileProgress:
    """Told after each visit: the module's path, and visits made of all that are planned so far."""

    path: str
    done: int
    total: int
    elapsed_s: float
    remaining_s: float
