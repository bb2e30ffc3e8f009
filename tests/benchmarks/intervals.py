"""95 % confidence intervals of means over seeds, and of an AUC over the rows that it was taken on."""

import math
import statistics
from collections.abc import Sequence

__all__ = ["auc_interval", "mean_interval"]

# Two-sided 95 % quantiles of Student's t by degrees of freedom.
_STUDENT_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
_NORMAL_95 = 1.96


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Of the mean of two values or more, by Student's t (up to 10 values; the normal quantile beyond)."""
    freedom = len(values) - 1
    quantile = _STUDENT_95[freedom - 1] if freedom <= len(_STUDENT_95) else _NORMAL_95
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    middle = statistics.fmean(values)
    return middle - half, middle + half


def auc_interval(auc: float, positives: int, negatives: int) -> tuple[float, float]:
    """Of one AUC, over a redrawing of the test rows (Hanley and McNeil, Radiology 143, 1982)."""
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = auc * (1 - auc) + (positives - 1) * (q1 - auc**2) + (negatives - 1) * (q2 - auc**2)
    half = _NORMAL_95 * math.sqrt(spread / (positives * negatives))
    return auc - half, auc + half
