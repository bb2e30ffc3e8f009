"""How likely a query is in time on a path whose service times scatter: the distribution as a table, read at one place.

Shape suffixes as in `arrays`; G places of a path's row: the first knot, knots per unit (0: no scatter), the factors
on the mean up to which none and from which all are in time, then the share of services that take no longer than each
knot says. Knots are such factors, even in `_octaves` of them.
"""

import math
from functools import lru_cache
from typing import Literal

import numpy as np

from serving_sim.kernels.arrays import Floats
from serving_sim.kernels.compiled import compiled_borrowing

__all__ = ["chance_in_time", "chance_row"]

_FIRST, _PER_UNIT, _LEAST, _MOST, _KNOTS = 0, 1, 2, 3, 4
_STEPS = 256
# Beyond these, in deviations of a lognormal and as factors of an exponential, all is taken to be late or in time.
_MOST_DEVIATIONS, _LEAST_EXPONENTIAL, _MOST_EXPONENTIAL = 4.0, 1e-4, 10.0
_MANTISSA = 2.0**52


@compiled_borrowing
def _octaves(factor: float) -> float:
    """A straight line between powers of two: the logarithm to base 2, nearly, without one. The factor is above 0."""
    return float(np.float64(factor).view(np.int64) / _MANTISSA)


@compiled_borrowing
def chance_in_time(path: int, latency_ms: float, service_ms: float, sla_ms: float, chance_PG: Floats) -> float:
    """The share of the queries that are done by the SLA, of those whose service of `service_ms` on average is expected
    to end by `latency_ms`; the wait is taken as certain.
    """
    per_unit = chance_PG[path, _PER_UNIT]
    if per_unit == 0.0:
        return 1.0 if latency_ms <= sla_ms else 0.0
    left_ms = sla_ms - latency_ms + service_ms
    if left_ms >= chance_PG[path, _MOST] * service_ms:
        return 1.0
    # Neither holds where the path never ends.
    if not left_ms > chance_PG[path, _LEAST] * service_ms:
        return 0.0
    place = min(max((_octaves(left_ms / service_ms) - chance_PG[path, _FIRST]) * per_unit, 0.0), float(_STEPS))
    step = min(int(place), _STEPS - 1)
    low, high = chance_PG[path, _KNOTS + step], chance_PG[path, _KNOTS + step + 1]
    return float(low + (place - step) * (high - low))


def chance_row(spread: Literal["none", "lognormal", "exponential"], sigma: float) -> Floats:
    """A path's row: of factors of mean 1, lognormal with `sigma`, exponential, or all of them 1."""
    return np.array(_row(spread, sigma))


@lru_cache(maxsize=256)
def _row(spread: Literal["none", "lognormal", "exponential"], sigma: float) -> tuple[float, ...]:
    if spread == "none" or (spread == "lognormal" and sigma == 0):
        return (0.0,) * (_KNOTS + _STEPS + 1)
    if spread == "lognormal":
        least, most = (math.exp(sigma * z - sigma**2 / 2) for z in (-_MOST_DEVIATIONS, _MOST_DEVIATIONS))
    else:
        least, most = _LEAST_EXPONENTIAL, _MOST_EXPONENTIAL
    first, span = _octaves(least), _octaves(most) - _octaves(least)
    # As many knots to each octave where there is room: a line between two bends at powers of two.
    per_unit = float((_STEPS - 1) // span) or _STEPS / span
    first = math.floor(first * per_unit) / per_unit
    knots = first + np.arange(_STEPS + 1) / per_unit
    factors = (knots * _MANTISSA).astype(np.int64).view(np.float64).tolist()
    shares = (_share_within(factor, sigma if spread == "lognormal" else None) for factor in factors)
    return (first, per_unit, least, most, *shares)


def _share_within(factor: float, sigma: float | None) -> float:
    if sigma is None:
        return -math.expm1(-factor)
    return math.erfc(-(math.log(factor) + sigma**2 / 2) / (sigma * math.sqrt(2))) / 2
