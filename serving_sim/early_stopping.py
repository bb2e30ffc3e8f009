"""MLPerf's early stopping: whether a run saw enough queries to say, at a confidence, that its tail holds the latency.

A run with `t` late queries and `h` within the latency passes where a system that is within it for a share `p - d` of
queries only would show no more than `t` late ones of `h + t` with a probability of at most `1 - c`:
`P[Binomial(h + t, 1 - p + d) <= t] = I(p - d; h, t + 1) <= 1 - c`, with percentile p, tolerance d and confidence c
(MLCommons, MLPerf Inference Rules, appendix "Early Stopping Criterion", and loadgen/early_stopping.cc; d = 0 and
c = 0.99 there). It takes queries as independent; those that wait in one queue are not, and are late together.
"""

import math
from functools import lru_cache

import numpy as np

from profiles.errors import InputError

__all__ = ["CONFIDENCE", "least_within", "most_late", "nominal_queries", "passes"]

CONFIDENCE, TOLERANCE = 0.99, 0.0
# Two-sided normal quantile at MLPerf's 99 % confidence, and the multiple that its counts are rounded up to.
_NORMAL_99 = 2.5758293035489004
_ROUNDED_TO = 2**13
_MARGIN_SHARE = 1 / 20


def passes(
    within: int, late: int, percentile: float, *, confidence: float = CONFIDENCE, tolerance: float = TOLERANCE
) -> bool:
    """Whether `within` queries in the latency and `late` ones say that the percentile holds it.

    Raises:
        InputError: a percentile, confidence or tolerance out of range, or a negative count.
    """
    share = _share(percentile, confidence, tolerance)
    if within < 0 or late < 0:
        raise InputError(f"within, late: must be >= 0, but got {within} and {late}")
    return _at_most(late, within + late, 1 - share) <= 1 - confidence


def least_within(late: int, percentile: float, *, confidence: float = CONFIDENCE, tolerance: float = TOLERANCE) -> int:
    """The fewest queries within the latency that make up for `late` ones."""
    share = _share(percentile, confidence, tolerance)
    few, many = 0, max(1, math.ceil((late + 1) * share / (1 - share)))
    while not passes(many, late, percentile, confidence=confidence, tolerance=tolerance):
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        if passes(middle, late, percentile, confidence=confidence, tolerance=tolerance):
            many = middle
        else:
            few = middle
    return many


@lru_cache(maxsize=256)
def most_late(queries: int, percentile: float, *, confidence: float = CONFIDENCE, tolerance: float = TOLERANCE) -> int:
    """How many of so many queries may be late at most; -1 where even none says nothing yet."""
    low, high = -1, math.floor(queries * (1 - percentile / 100 + tolerance)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if passes(queries - middle, middle, percentile, confidence=confidence, tolerance=tolerance):
            low = middle
        else:
            high = middle
    return low


def nominal_queries(percentile: float) -> int:
    """The queries of an MLPerf run without early stopping: 24,576 for p90, 270,336 for p99.

    Those that pin a share p down to a margin of (1 - p) / 20 at 99 % confidence, `z^2 p (1 - p) / margin^2`, rounded up
    to a multiple of 2^13 (V. J. Reddi et al., MLPerf Inference Benchmark, ISCA 2020, equations 1 and 2 and table IV).
    """
    share = _share(percentile, CONFIDENCE, TOLERANCE)
    margin = _MARGIN_SHARE * (1 - share)
    needed = _NORMAL_99**2 * share * (1 - share) / margin**2
    return math.ceil(needed / _ROUNDED_TO) * _ROUNDED_TO


def _share(percentile: float, confidence: float, tolerance: float) -> float:
    if not 0 < percentile < 100:
        raise InputError(f"percentile: must be in (0, 100), but got {percentile}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence: must be in (0, 1), but got {confidence}")
    if not 0 <= tolerance < percentile / 100:
        raise InputError(f"tolerance: must be in [0, {percentile / 100:g}), but got {tolerance}")
    return percentile / 100 - tolerance


def _at_most(events: int, trials: int, chance: float) -> float:
    """P[Binomial(trials, chance) <= events], summed in logs."""
    if events >= trials:
        return 1.0
    count_K = np.arange(1, events + 1, dtype=np.float64)
    steps_K = np.log((trials - count_K + 1) / count_K) + math.log(chance) - math.log1p(-chance)
    logs_K = trials * math.log1p(-chance) + np.concatenate(([0.0], np.cumsum(steps_K)))
    highest = float(logs_K.max())
    return math.exp(highest) * float(np.exp(logs_K - highest).sum())
