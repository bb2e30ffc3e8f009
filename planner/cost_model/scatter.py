"""How single queries scatter, as the sigma of a lognormal, and what that makes of a quartile.

Quartiles tell sigma: log(p75 / p25) is 1.349 sigma. Timing averages short calls over samples of a least length, which
hides scatter, so that whole models, whose calls are long enough to be samples of their own, are believed first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.cost_model.training_rows import is_contended
from profiles.records import Latency
from profiles.timing import TimingOptions

__all__ = ["MOST_SIGMA", "Scatter", "mean_over_p25", "scatter_of"]

# Quartiles of a standard normal distribution lie so far from its middle, and between each other.
_QUARTILE = 0.6745
_QUARTILE_RANGE = 1.349
# Single calls that differ by a factor of e either way tell of the machine's other work, not of a model.
MOST_SIGMA = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Scatter:
    """Lognormal sigma of single calls; `notes` say what it was found from and whether it was capped."""

    sigma: float = 0.0
    notes: tuple[str, ...] = ()


def scatter_of(models: Sequence[Latency], components: Sequence[Latency]) -> Scatter:
    """The median sigma of whole models whose samples are single calls, else of components, corrected for averaging.

    Rows measured without contention go before those measured with it.
    """
    single = [one for one in models if _calls_per_sample(one) == 1]
    chosen, source = (single, "whole models") if single else (components, "components")
    if not chosen:
        return Scatter()
    calm = [one for one in chosen if not is_contended(one)]
    sigma = float(np.median([_sigma(one) for one in calm or chosen]))
    if sigma <= MOST_SIGMA:
        return Scatter(sigma=sigma, notes=(f"single queries scatter by a sigma of {sigma:.2g}, from {source}",))
    note = f"single queries scatter by a sigma of {sigma:.2g}, from {source}: taken as {MOST_SIGMA:g}, measure anew"
    return Scatter(sigma=MOST_SIGMA, notes=(note,))


def mean_over_p25(sigma: float) -> float:
    """The mean of a lognormal distribution over its 25th percentile."""
    return math.exp(_QUARTILE * sigma + sigma**2 / 2)


def _sigma(latency: Latency) -> float:
    """Of single calls; where a sample is the mean of n, as if calls were independent: n times the variance."""
    calls = _calls_per_sample(latency)
    sigma = math.log1p(latency.iqr_ms / latency.p25_ms) / _QUARTILE_RANGE
    return sigma if calls == 1 else math.sqrt(math.log1p(calls * math.expm1(sigma**2)))


def _calls_per_sample(latency: Latency) -> int:
    return max(1, math.ceil(TimingOptions().min_sample_ms / latency.p25_ms))
