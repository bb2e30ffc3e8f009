"""What the surrogate of a search's scores says of its trials, with how sure it is.

Suffixes: N trials, X features, O scores.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from planner.cost_model.candidates import candidates_of
from planner.search.model_features import accuracy_features
from planner.search.objective import METRICS
from planner.search.records import SearchResult, TrialRecord
from planner.search.scaling import Scaling
from planner.search.surrogate import Observations, Surrogate, fit_surrogate

__all__ = ["expected_metric", "forecast_frame"]

Floats = NDArray[np.float64]
_SCHEMA: dict[str, Any] = {
    "number": pl.Int64,
    "name": pl.String,
    "state": pl.String,
    "share": pl.Float64,
    **dict.fromkeys(("reached", "expected", "low", "high"), pl.Float64),
}
_FEWEST = 4
# Of a normal distribution 95 % lie within so many standard deviations.
_DEVIATIONS = 1.96


def expected_metric(result: SearchResult, name: str) -> Floats:
    """[N]: a metric of each trial after a whole training: what it reached, else what is expected of it.

    Raises:
        InputError: no trial has a score.
    """
    features_NX, seen = _observations(result, name)
    expected_N, _ = fit_surrogate(seen).predict(features_NX, np.arange(len(features_NX)))
    whole = seen.share_O == 1
    expected_N[seen.candidate_O[whole]] = seen.value_O[whole]
    return expected_N


def forecast_frame(result: SearchResult) -> pl.DataFrame:
    """A row per trial with a score: the first measure of quality as expected, and its 95 % interval; empty for few.

    `reached` is the score after `share` of the training. A trial that was stopped is expected to end as it began and
    as the others did; one that was not is judged by the others alone, so that what was expected can be held against
    what came.
    """
    name = next((one for one in result.objectives if one in METRICS), None)
    if name is None or len(result.feasible) < _FEWEST:
        return pl.DataFrame(schema=_SCHEMA)
    features_NX, seen = _observations(result, name)
    theta_P = fit_surrogate(seen).theta_P
    rows = []
    for place, trial in enumerate(result.trials):
        own = np.flatnonzero(seen.candidate_O == place)
        if not len(own):
            continue
        known = _without(seen, place) if trial.state == "complete" else seen
        mean_N, std_N = Surrogate(known, theta_P).predict(features_NX[[place]], np.array([place]))
        expected, span = float(mean_N[0]), _DEVIATIONS * float(std_N[0])
        last = own[np.argmax(seen.share_O[own])]
        rows.append(
            {
                "number": trial.number,
                "name": trial.model.name,
                "state": trial.state,
                "share": float(seen.share_O[last]),
                "reached": float(seen.value_O[last]),
                "expected": expected,
                "low": expected - span,
                "high": expected + span,
            }
        )
    return pl.DataFrame(rows, schema=_SCHEMA)


def _observations(result: SearchResult, name: str) -> tuple[Floats, Observations]:
    features_NX = accuracy_features(candidates_of([trial.model for trial in result.trials]))
    scaled_NX = Scaling.of(features_NX).apply(features_NX)
    scores = [
        (place, share, value) for place, trial in enumerate(result.trials) for share, value in _scores(trial, name)
    ]
    places_O = np.array([place for place, _, _ in scores], dtype=np.intp)
    seen = Observations(
        features_OX=scaled_NX[places_O],
        candidate_O=places_O,
        share_O=np.array([share for _, share, _ in scores]),
        value_O=np.array([value for _, _, value in scores]),
    )
    return scaled_NX, seen


def _without(seen: Observations, place: int) -> Observations:
    others = seen.candidate_O != place
    return Observations(
        features_OX=seen.features_OX[others],
        candidate_O=seen.candidate_O[others],
        share_O=seen.share_O[others],
        value_O=seen.value_O[others],
    )


def _scores(trial: TrialRecord, name: str) -> list[tuple[float, float]]:
    """Shares of training and the metric there."""
    if trial.state not in ("complete", "stopped"):
        return []
    early = [(rung.share, float(getattr(rung, name))) for rung in trial.rungs if rung.share < 1]
    return [*early, (1.0, trial.value(name, ""))] if trial.state == "complete" else early
