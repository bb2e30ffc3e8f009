"""What a table gains over a DHE, feature by feature, as a search's trials tell it.

A least-squares fit of quality over the trials whose features are all tables or DHEs: a constant, the log of the mean
width and of the hash functions, and one term per feature that has a table. Features that went the same way in every
trial cannot be told apart and share a term.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.mapping.candidate import TrainedCandidate
from planner.mapping.feature_gains import FeatureGain, Pricer, with_embeddings
from representations.specs import DheSpec, ModelSpec, TableSpec

__all__ = ["TrialGains", "gains_from_trials"]

# More trials than terms, so that the residual says something of the error.
_SPARE_TRIALS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialGains:
    """Gains of tables over `base`, which has a DHE for every feature; none, with the reason, where trials do not tell.

    `undecided` are the features that were the same in every trial.
    """

    base: ModelSpec | None
    gains: tuple[FeatureGain, ...] = ()
    undecided: tuple[str, ...] = ()
    trials: int = 0
    reason: str = ""


def gains_from_trials(candidates: Sequence[TrainedCandidate], latency_us: Pricer) -> TrialGains:
    """Fit the trials, and price each feature's table with `latency_us` and by its bytes.

    The base is the best candidate that has a DHE, with that DHE for all features.
    """
    usable = [one for one in candidates if _is_select(one.model)]
    with_dhe = [(one, dhe) for one in usable if (dhe := _dhe_of(one.model)) is not None]
    if not with_dhe or len(with_dhe) == len(usable) == 1:
        return TrialGains(base=None, trials=len(usable), reason="no trial has a DHE for a feature and another a table")
    names = [feature.name for feature in usable[0].model.features]
    is_table_NF = np.array([[isinstance(e, TableSpec) for e in one.model.embeddings] for one in usable])
    groups, undecided = _groups(names, is_table_NF)
    if not groups:
        return TrialGains(base=None, trials=len(usable), reason="every feature was the same in every trial")
    terms_NT = _terms(usable, is_table_NF, [names.index(group[0]) for group in groups])
    rank = int(np.linalg.matrix_rank(terms_NT))
    if len(usable) < rank + _SPARE_TRIALS or rank < terms_NT.shape[1]:
        reason = f"{len(usable)} trials do not tell {terms_NT.shape[1]} terms apart"
        return TrialGains(base=None, trials=len(usable), undecided=undecided, reason=reason)
    gain_T, error_T = _fit(terms_NT, np.array([one.quality for one in usable]))
    best, dhe = max(with_dhe, key=lambda pair: (pair[0].quality, pair[0].name))
    base = replace(best.model, name=f"all-dhe-{best.name}", embeddings=(dhe,) * len(names))
    gains = tuple(
        _gain(base, group, float(gain_T[1 + place]), float(error_T[1 + place]), latency_us)
        for place, group in enumerate(groups)
    )
    return TrialGains(base=base, gains=gains, undecided=undecided, trials=len(usable))


def _gain(base: ModelSpec, group: tuple[str, ...], gain: float, error: float, latency_us: Pricer) -> FeatureGain:
    table = TableSpec(dim=base.embeddings[0].width)
    model = with_embeddings(base, dict.fromkeys(group, table))
    return FeatureGain(
        features=group,
        embedding=table,
        accuracy_gain=gain,
        std_error=error,
        extra_bytes=model.parameter_bytes - base.parameter_bytes,
        extra_us=latency_us(model) - latency_us(base),
    )


def _is_select(model: ModelSpec) -> bool:
    widths = {embedding.width for embedding in model.embeddings}
    return len(widths) == 1 and all(isinstance(one, TableSpec | DheSpec) for one in model.embeddings)


def _dhe_of(model: ModelSpec) -> DheSpec | None:
    return next((one for one in model.embeddings if isinstance(one, DheSpec)), None)


def _groups(
    names: Sequence[str], is_table_NF: NDArray[np.bool_]
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Features that changed, by how they did; and those that never did."""
    columns: dict[bytes, list[str]] = {}
    undecided = []
    for name, column_N in zip(names, is_table_NF.T, strict=True):
        if column_N.all() or not column_N.any():
            undecided.append(name)
        else:
            columns.setdefault(column_N.tobytes(), []).append(name)
    return tuple(tuple(group) for group in columns.values()), tuple(undecided)


def _terms(
    usable: Sequence[TrainedCandidate], is_table_NF: NDArray[np.bool_], chosen: Sequence[int]
) -> NDArray[np.float64]:
    """[N, T]: a constant, a term per group of features, and the sizes that differ."""
    dhes = [_dhe_of(one.model) for one in usable]
    width_N = np.log2([one.model.embeddings[0].width for one in usable])
    k_N = np.array([math.log2(dhe.k) if dhe else np.nan for dhe in dhes])
    k_N = np.where(np.isnan(k_N), 0.0, k_N - np.nanmean(k_N))
    columns = [np.ones(len(usable)), *(is_table_NF[:, place].astype(float) for place in chosen)]
    for column_N in (width_N, k_N):
        # Sizes that went together in every trial are told by one of them.
        together = np.stack([*columns, column_N], axis=1)
        if np.linalg.matrix_rank(together) == together.shape[1]:
            columns.append(column_N)
    return np.stack(columns, axis=1)


def _fit(terms_NT: NDArray[np.float64], quality_N: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Coefficients and their standard errors."""
    inverse_TT = np.linalg.inv(terms_NT.T @ terms_NT)
    fitted_T = inverse_TT @ terms_NT.T @ quality_N
    left_N = quality_N - terms_NT @ fitted_T
    variance = float(left_N @ left_N) / (len(quality_N) - terms_NT.shape[1])
    return fitted_T, np.sqrt(variance * np.diag(inverse_TT))
