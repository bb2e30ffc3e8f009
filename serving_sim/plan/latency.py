"""How long a path serves a query: over its size, what it misses of a cache, and how long its server idled before."""

import math
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from profiles.edge import STRICT
from profiles.errors import InputError
from serving_sim.plan.checks import require_at_least, require_positive

__all__ = ["IdleGap", "LatencyTable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class IdleGap:
    """A query that finds its server idle for more than `after_ms` takes `factor` times as long and `added_ms` more.

    What is added is the same for every query: caches that fill again do not scatter as the query does.
    """

    __pydantic_config__: ClassVar = STRICT
    after_ms: float
    factor: float = 1.0
    added_ms: float = 0.0

    def __post_init__(self) -> None:
        require_at_least("after_ms", self.after_ms, 0)
        require_positive("factor", self.factor)
        require_at_least("added_ms", self.added_ms, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyTable:
    """Service latency over query size (samples), log-log interpolated between `sizes`.

    `low_ms` and `high_ms` bound the mean's 90 % error interval. `spread` says how single queries scatter about the
    mean: a factor of mean 1, lognormal with `sigma`, exponential (for queueing theory), or none. `correlation` is that
    of the logs of two factors drawn one after the other on a device (lognormal spread only).

    With `miss_shares`, a query's mean latency follows the share of its lookups that miss the path's cache:
    `mean_by_miss_share_ms` has a row per share and a column per size, between which time is linear in the share.

    An entry that is NaN is warned of and interpolated between its neighbours; times that fall with size are warned of
    and kept as given.
    """

    __pydantic_config__: ClassVar = STRICT
    sizes: tuple[int, ...]
    mean_ms: tuple[float, ...]
    low_ms: tuple[float, ...] = ()
    high_ms: tuple[float, ...] = ()
    spread: Literal["none", "lognormal", "exponential"] = "none"
    sigma: float = 0.0
    miss_shares: tuple[float, ...] = ()
    mean_by_miss_share_ms: tuple[tuple[float, ...], ...] = ()
    idle_gap: IdleGap | None = None
    correlation: float = 0.0

    def __post_init__(self) -> None:
        if not self.sizes or self.sizes[0] < 1 or any(b <= a for a, b in pairwise(self.sizes)):
            raise InputError(f"sizes: must be increasing and >= 1, but got {list(self.sizes)}")
        for name in ("mean_ms", "low_ms", "high_ms"):
            values = getattr(self, name)
            if values or name == "mean_ms":
                object.__setattr__(self, name, self._checked(name, values))
        for low, high in zip(self.low_ms, self.high_ms, strict=False):
            if low > high:
                raise InputError(f"low_ms: must not be above high_ms, but got {low} above {high}")
        if not 0 <= self.sigma < 10:
            raise InputError(f"sigma: must be in [0, 10), but got {self.sigma}")
        if not 0 <= self.correlation < 1:
            raise InputError(f"correlation: must be in [0, 1), but got {self.correlation}")
        if self.correlation and self.spread != "lognormal":
            raise InputError(f"correlation: goes with spread 'lognormal', but got {self.spread!r}")
        if self.correlation and self.miss_shares:
            raise InputError("correlation: goes with no miss_shares, but got both")
        _warn_of_falling("mean_ms", self.mean_ms)
        self._check_misses()

    def _check_misses(self) -> None:
        shares, rows = self.miss_shares, self.mean_by_miss_share_ms
        if any(b <= a for a, b in pairwise(shares)) or not all(0 <= share <= 1 for share in shares):
            raise InputError(f"miss_shares: must be increasing and in [0, 1], but got {list(shares)}")
        if len(shares) != len(rows):
            raise InputError(
                f"mean_by_miss_share_ms: must have {len(shares)} rows as miss_shares has, but got {len(rows)}"
            )
        checked = tuple(self._checked(f"mean_by_miss_share_ms.{place}", row) for place, row in enumerate(rows))
        object.__setattr__(self, "mean_by_miss_share_ms", checked)
        for place, row in enumerate(checked):
            _warn_of_falling(f"mean_by_miss_share_ms.{place}", row)

    def _checked(self, name: str, values: tuple[float, ...]) -> tuple[float, ...]:
        if len(values) != len(self.sizes):
            raise InputError(f"{name}: must have {len(self.sizes)} entries as sizes has, but got {len(values)}")
        known = [place for place, value in enumerate(values) if not math.isnan(value)]
        if not known:
            raise InputError(f"{name}: must hold numbers, but every entry is NaN")
        if not all(values[place] > 0 and math.isfinite(values[place]) for place in known):
            raise InputError(f"{name}: must be finite and > 0, but got {list(values)}")
        return values if len(known) == len(values) else self._interpolated(name, values, known)

    def _interpolated(self, name: str, values: tuple[float, ...], known: list[int]) -> tuple[float, ...]:
        missing = [size for place, size in enumerate(self.sizes) if place not in known]
        warnings.warn(f"{name} is NaN at size {missing}; interpolated from the other sizes", stacklevel=5)
        logs = np.log(np.array([values[place] for place in known]))
        log_sizes = np.log(np.array(self.sizes, dtype=np.float64))
        filled = np.exp(np.interp(log_sizes, log_sizes[known], logs)).tolist()
        return tuple(values[place] if place in known else filled[place] for place in range(len(values)))


def _warn_of_falling(name: str, values: tuple[float, ...]) -> None:
    if any(b < a for a, b in pairwise(values)):
        warnings.warn(f"{name} decreases with size and is kept as given: {list(values)}", stacklevel=4)
