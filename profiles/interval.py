"""How well repeated visits pin a latency down."""

import math
import statistics
from collections.abc import Sequence

__all__ = ["interval_share"]

# 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom.
_T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def interval_share(visits_ms: Sequence[float]) -> float | None:
    """Half the 95 % interval of the mean over the mean, by Student's t with one value per visit; None below two.

    Samples of one visit are alike, so each visit counts once: give the median of its samples.
    """
    count = len(visits_ms)
    if count < 2:
        return None
    mean_ms = statistics.fmean(visits_ms)
    if mean_ms <= 0:
        return math.inf
    return _t_975(count - 1) * statistics.stdev(visits_ms) / math.sqrt(count) / mean_ms


def _t_975(freedom: int) -> float:
    """Beyond the table by the first term of the Cornish-Fisher expansion, to 0.1 %."""
    normal = 1.959964
    return _T_975[freedom - 1] if freedom <= len(_T_975) else normal + (normal**3 + normal) / (4 * freedom)
