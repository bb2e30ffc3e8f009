"""What earlier searches lead one to expect: the surrogate of their scores, asked about this search's candidates.

Candidates are described by `model_features`, which name no feature, so the earlier search may have had other data.
"""

from collections.abc import Callable, Sequence

import numpy as np

from planner.cost_model.candidates import candidates_of
from planner.search.candidate import Candidate
from planner.search.guide import Prior
from planner.search.model_features import accuracy_features
from planner.search.objective import METRICS, objective_costs
from planner.search.records import SearchResult
from planner.search.scaling import Scaling
from planner.search.surrogate import Observations, Surrogate, fit_surrogate

__all__ = ["earlier_prior"]

_FEWEST = 4


def earlier_prior(
    earlier: Sequence[SearchResult], objectives: Sequence[str]
) -> Callable[[Sequence[Candidate]], Prior | None] | None:
    """Makes a prior for candidates from the searches that trained enough; None where there are none.

    Several searches are averaged with weights by their certainty. Data sets differ in their level, which a guide's own
    scores correct.
    """
    metric = next((name for name in objectives if name in METRICS), None)
    used = [result for result in earlier if len(result.feasible) >= _FEWEST]
    if metric is None or not used:
        return None

    def prior(candidates: Sequence[Candidate]) -> Prior:
        features_NX = accuracy_features(candidates_of([candidate.model for candidate in candidates]))
        told = []
        for result in used:
            surrogate, scaling = _fitted(result, metric)
            told.append(surrogate.predict(scaling.apply(features_NX)))
        weights = np.stack([1 / std_N**2 for _, std_N in told])
        mean_N = (weights * np.stack([mean_N for mean_N, _ in told])).sum(axis=0) / weights.sum(axis=0)
        return Prior(mean_N=mean_N, std_N=np.stack([std_N for _, std_N in told]).min(axis=0))

    return prior


def _fitted(result: SearchResult, metric: str) -> tuple[Surrogate, Scaling]:
    trials = result.feasible
    features_NX = accuracy_features(candidates_of([trial.model for trial in trials]))
    scaling = Scaling.of(features_NX)
    seen = Observations(
        features_OX=scaling.apply(features_NX),
        candidate_O=np.arange(len(trials)),
        share_O=np.ones(len(trials)),
        value_O=np.array([objective_costs({metric: trial.value(metric, "")}, (metric,))[0] for trial in trials]),
    )
    return fit_surrogate(seen), scaling
