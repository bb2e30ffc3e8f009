"""How single queries lie about a label: slower than it by a factor, and scattered about that as a lognormal."""

import math
from dataclasses import dataclass

__all__ = ["Scatter"]

# The lower quartile of a standard normal distribution lies so far below its middle.
_QUARTILE = 0.6745


@dataclass(frozen=True, kw_only=True, slots=True)
class Scatter:
    """Lognormal sigma of single calls, and how much slower than its label the median call is.

    Without `median_over_label` labels are lower quartiles of these calls themselves. `notes` say what it was found from
    and whether it was capped.
    """

    sigma: float = 0.0
    median_over_label: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def mean_over_label(self) -> float:
        """What a label is multiplied by for the mean call."""
        return self.over_label(0.0) * math.exp(self.sigma**2 / 2)

    def over_label(self, deviations: float) -> float:
        """What it is multiplied by for the call that is so many standard deviations above the median one."""
        median = math.exp(_QUARTILE * self.sigma) if self.median_over_label is None else self.median_over_label
        return median * math.exp(deviations * self.sigma)
