"""What the look at a space found before anything was trained, in numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["ScreenedCounts"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScreenedCounts:
    """`priced` different candidates were looked at (all of the space where `complete`), `feasible` hold all limits.

    `broken` tells how many break each limit; a candidate may break several.
    """

    priced: int
    feasible: int
    broken: Mapping[str, int] = field(default_factory=dict)
    complete: bool = True

    @property
    def text(self) -> str:
        """A line on them."""
        of_what = "of the space" if self.complete else "looked at in a larger space"
        if self.feasible == self.priced:
            return f"{self.priced:,} candidates {of_what}, none of them ruled out"
        limits = ", ".join(f"{count:,} by {name}" for name, count in self.broken.items() if count)
        ruled_out = self.priced - self.feasible
        return f"{self.priced:,} candidates {of_what}, {ruled_out:,} ruled out before any training ({limits})"
