"""How much of what separates trials each choice explains.

For each choice and objective the share of the variance between trials that lies between those of different values of
that choice (the correlation ratio, corrected for the number of values: Kelley 1935). Costs are those predicted for all
trials. Accuracy is that of trials which trained to the end, and for the others what the surrogate expects.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from planner.search.forecasts import expected_metric
from planner.search.objective import METRICS
from planner.search.records import SearchResult, TrialRecord

__all__ = ["explained_share", "importances_frame"]

Floats = NDArray[np.float64]
_SCHEMA = {"parameter": pl.String, "objective": pl.String, "importance": pl.Float64}
_FEWEST = 4


def importances_frame(result: SearchResult) -> pl.DataFrame:
    """A row per choice and objective, the most important choice by the first objective first; empty for few trials."""
    trials = result.trials
    if len(trials) < _FEWEST or not result.feasible:
        return pl.DataFrame(schema=_SCHEMA)
    names = list(dict.fromkeys(name for trial in trials for name in trial.choices))
    values = {name: _values(result, name) for name in result.objectives}
    rows = [
        {"parameter": name, "objective": objective, "importance": explained_share(_labels(trials, name), value_N)}
        for name in names
        for objective, value_N in values.items()
    ]
    frame = pl.DataFrame(rows, schema=_SCHEMA)
    first = frame.filter(pl.col("objective") == result.objectives[0]).sort("importance", descending=True)
    order = {name: place for place, name in enumerate(first["parameter"])}
    return frame.sort(pl.col("parameter").replace_strict(order), maintain_order=True)


def explained_share(labels: Sequence[str], value_N: Floats) -> float:
    """The share of the variance of N values that lies between those of different labels, from 0 to 1."""
    groups = [value_N[np.array([one == label for one in labels])] for label in dict.fromkeys(labels)]
    count, total = len(value_N), float(((value_N - value_N.mean()) ** 2).sum())
    if total <= 0 or len(groups) == 1 or count <= len(groups):
        return 0.0
    within = float(sum(((group - group.mean()) ** 2).sum() for group in groups))
    corrected = 1 - (within / (count - len(groups))) / (total / (count - 1))
    return max(0.0, corrected)


def _labels(trials: Sequence[TrialRecord], name: str) -> list[str]:
    """The choice as text; where it plays no part, that is a value too."""
    return [str(trial.choices.get(name, "")) for trial in trials]


def _values(result: SearchResult, name: str) -> Floats:
    if name in METRICS:
        return expected_metric(result, name)
    return np.array([trial.value(name, result.latency_device) for trial in result.trials])
