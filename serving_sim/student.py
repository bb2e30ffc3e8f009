"""Confidence intervals of a mean over seeds."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

__all__ = ["half_width_95", "t_95"]

# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom.
_T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
)  # fmt: skip
_NORMAL_95 = 1.959963985


def t_95(freedom: int) -> float:
    """Student's t, two-sided 95 %: a table, then the expansion about the normal (Abramowitz and Stegun 26.7.5)."""
    if freedom <= len(_T_95):
        return _T_95[freedom - 1]
    z = _NORMAL_95
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return float(sum(term / freedom**power for power, term in enumerate(terms)))


def half_width_95(values: Sequence[float]) -> float:
    """Half of the 95 % interval of the mean of values that vary normally; two at least."""
    return t_95(len(values) - 1) * stdev(values, fmean(values)) / math.sqrt(len(values))
