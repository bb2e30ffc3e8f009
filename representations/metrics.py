"""How good predicted probabilities are."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError

__all__ = ["NOT_SCORED", "Metrics", "score"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Metrics:
    """Area under the ROC curve, mean log loss, and the share right at a threshold of 0.5."""

    auc: float
    log_loss: float
    accuracy: float


NOT_SCORED = Metrics(auc=math.nan, log_loss=math.nan, accuracy=math.nan)


def score(labels_N: NDArray[np.float32], probabilities_N: NDArray[np.float64]) -> Metrics:
    """The metrics of N predictions; the AUC needs both labels to occur."""
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    if len(np.unique(labels_N)) < 2:
        raise InputError(f"metrics: need both labels among the {len(labels_N)} rows, but there is one at most")
    return Metrics(
        auc=float(roc_auc_score(labels_N, probabilities_N)),
        log_loss=float(log_loss(labels_N, probabilities_N)),
        accuracy=float(accuracy_score(labels_N, probabilities_N >= 0.5)),
    )
