"""How single queries lie about a label: slower than it by a factor, scattered about that as a lognormal, and slower by
some time after a pause, in which others have used the caches.
"""

import math
from dataclasses import dataclass

__all__ = ["IDLED_MS", "Scatter"]

# How long a pause is after which calls are timed. What a server has lost of its caches after half of it counts as lost.
IDLED_MS = 4.0

# The lower quartile of a standard normal distribution lies so far below its middle.
_QUARTILE = 0.6745


@dataclass(frozen=True, kw_only=True, slots=True)
class Scatter:
    """Lognormal sigma of single calls, and how much slower than its label the median call is.

    Without `median_over_label` labels are lower quartiles of these calls themselves. `idled_ms` is what a call takes
    longer after a pause of `IDLED_MS`. `notes` say what it was found from and whether it was capped.
    """

    sigma: float = 0.0
    median_over_label: float | None = None
    idled_ms: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def mean_over_label(self) -> float:
        """What a label is multiplied by for the mean call."""
        return self.over_label(0.0) * math.exp(self.sigma**2 / 2)

    def over_label(self, deviations: float) -> float:
        """What it is multiplied by for the call that is so many standard deviations above the median one."""
        median = math.exp(_QUARTILE * self.sigma) if self.median_over_label is None else self.median_over_label
        return median * math.exp(deviations * self.sigma)
