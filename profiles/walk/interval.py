"""How well repeated visits pin a latency down."""

import math
import statistics
from collections.abc import Sequence

import numpy as np

__all__ = ["interval_share"]

# 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom.
_T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
# Of a normal distribution: the standard error of a median over that of a mean, and the interquartile range.
_MEDIAN_ERROR, _QUARTILE_RANGE = math.sqrt(math.pi / 2), 1.34898


def interval_share(visits_ms: Sequence[float]) -> float | None:
    """Half the 95 % interval of the median over the median, one value per visit; None below two.

    t sqrt(pi / 2) (IQR / 1.349) / sqrt(n), with quartiles by Hazen's rule (McGill, Tukey and Larsen, 1978, with
    Student's t for small n): it holds for the median that is reported, and slow spells of a machine do not blow it up.
    Samples of one visit are alike, so each visit counts once: give the median of its samples.
    """
    count = len(visits_ms)
    if count < 2:
        return None
    median_ms = statistics.median(visits_ms)
    if median_ms <= 0:
        return math.inf
    low_ms, high_ms = np.percentile(visits_ms, (25, 75), method="hazen")
    sigma_ms = float(high_ms - low_ms) / _QUARTILE_RANGE
    return _t_975(count - 1) * _MEDIAN_ERROR * sigma_ms / math.sqrt(count) / median_ms


def _t_975(freedom: int) -> float:
    """Beyond the table by the first term of the Cornish-Fisher expansion, to 0.1 %."""
    normal = 1.959964
    return _T_975[freedom - 1] if freedom <= len(_T_975) else normal + (normal**3 + normal) / (4 * freedom)
