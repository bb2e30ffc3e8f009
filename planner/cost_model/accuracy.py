"""How far predictions are from measurements: all figures are fractions (0.05 = 5 %), never percent."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.cost_model.estimates import Floats
from profiles.errors import InputError

__all__ = ["ErrorSummary", "pairs_in_order", "rank_agreement", "summarise_errors"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorSummary:
    """Absolute relative errors against the measured value; `bias` is the mean signed one (> 0: predicted too high)."""

    rows: int
    mape: float
    median: float
    p90: float
    within_10: float
    bias: float


def summarise_errors(measured: Floats, predicted: Floats) -> ErrorSummary:
    """Errors of predictions, each relative to its measurement.

    Raises:
        InputError: no row.
    """
    if not len(measured):
        raise InputError("errors: need at least one row")
    signed = predicted / measured - 1
    errors = np.abs(signed)
    return ErrorSummary(
        rows=len(errors),
        mape=float(errors.mean()),
        median=float(np.median(errors)),
        p90=float(np.quantile(errors, 0.9)),
        within_10=float(np.mean(errors <= 0.1)),
        bias=float(signed.mean()),
    )


def rank_agreement(batches: Sequence[int], measured: Floats, predicted: Floats) -> float | None:
    """Kendall's tau between models at equal batch, averaged over the batches that hold two models or more.

    Larger batches are slower for every model, so that ranks over all rows would flatter. None where no batch compares.
    """
    from scipy.stats import kendalltau

    at = np.array(batches)
    groups = [at == batch for batch in np.unique(at)]
    taus = [kendalltau(measured[rows], predicted[rows]).statistic for rows in groups if rows.sum() > 1]
    known = [float(tau) for tau in taus if np.isfinite(tau)]
    return float(np.mean(known)) if known else None


def pairs_in_order(
    batches: Sequence[int], measured: Floats, predicted: Floats, *, apart: float
) -> tuple[int, float | None]:
    """How many pairs of models at equal batch were measured more than `apart` (a fraction of the faster) from one
    another, and the share of them that predictions put in the same order; None without any.
    """
    at = np.array(batches)
    first, second = np.triu_indices(len(at), k=1)
    ratio = measured[second] / measured[first]
    compared = (at[first] == at[second]) & (np.maximum(ratio, 1 / ratio) > 1 + apart)
    agree = (predicted[second] > predicted[first]) == (ratio > 1)
    pairs = int(compared.sum())
    return pairs, float(np.mean(agree[compared])) if pairs else None
