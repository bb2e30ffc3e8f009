"""Which candidate to train next, and how far: most expected hypervolume per second of training still to come.

A candidate is trained rung by rung. After each rung all candidates compete again, begun or not: the one whose whole
training promises most for what is left of it goes one rung on. So a candidate that disappoints early is left where it
is, one that may yet surprise is promoted, and no schedule has to be set.

Suffixes: N candidates, O observations, M objectives, K known ones, P members of the front.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner.search.evaluation import RungStep, check_rungs
from planner.search.expected_improvement import expected_hypervolume_improvement
from planner.search.pareto import non_dominated
from planner.search.pool import Pool
from planner.search.surrogate import Observations, Surrogate, fit_surrogate
from planner.search.training_time import predicted_seconds
from profiles.errors import InputError

__all__ = ["Forecast", "Guide"]

Floats = NDArray[np.float64]
_FIRST = 6
# Parameters are looked for anew after each tenth more scores; in between only the scores are taken in.
_GROWTH = 1.1
_NEVER = -1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Forecast:
    """What the surrogate says of each candidate after a whole training, in the objective's own units as a cost."""

    mean_N: Floats
    std_N: Floats
    gain_N: Floats


@dataclass(kw_only=True, slots=True)
class _Scores:
    """Scores so far: of which candidate, at which rung, the uncertain objectives' values, and the seconds they took."""

    candidate: list[int] = field(default_factory=list)
    rung: list[int] = field(default_factory=list)
    values: list[tuple[float, ...]] = field(default_factory=list)


class Guide:
    """Chooses from a pool; `tell` it every score, in any order, and the same scores make the same choices."""

    def __init__(self, pool: Pool, rungs: Sequence[float] = (1.0,), *, first: int = _FIRST) -> None:
        check_rungs(tuple(rungs))
        self._pool, self._rungs = pool, tuple(rungs)
        self._first = spread_out(pool, first)
        self._scores = _Scores()
        self._reached_N = np.full(len(pool), _NEVER, dtype=np.intp)
        self._seconds_N = np.zeros(len(pool))
        self._open_N = np.ones(len(pool), dtype=np.bool_)
        self._theta_P: tuple[Floats, ...] = ()
        self._fitted_at = 0

    def tell(self, candidate: int, rung: int, values: Sequence[float], seconds: float) -> None:
        """Take in the uncertain objectives' values (less is better) at a rung, reached with `seconds` more training."""
        if len(values) != len(self._pool.uncertain):
            raise InputError(f"guide: needs {len(self._pool.uncertain)} values, but got {list(values)}")
        self._scores.candidate.append(candidate)
        self._scores.rung.append(rung)
        self._scores.values.append(tuple(values))
        self._reached_N[candidate] = max(rung, int(self._reached_N[candidate]))
        self._seconds_N[candidate] += seconds
        if rung == len(self._rungs) - 1:
            self._open_N[candidate] = False

    def drop(self, candidate: int) -> None:
        """Never ask for this candidate (again)."""
        self._open_N[candidate] = False

    def ask(self, busy: Collection[int] = ()) -> tuple[int, RungStep] | None:
        """The next step; `busy` candidates are in training now. None when all are trained or dropped."""
        open_N = self._open_N.copy()
        open_N[list(busy)] = False
        if not open_N.any():
            return None
        for candidate in self._first:
            if open_N[candidate] and self._reached_N[candidate] == _NEVER:
                return candidate, RungStep(rung=0)
        if not self._scores.candidate:
            return int(np.flatnonzero(open_N)[0]), RungStep(rung=0)
        gain_N = self.forecast(busy).gain_N / self._seconds_left()
        best = int(np.argmax(np.where(open_N, gain_N, -np.inf)))
        reached = int(self._reached_N[best])
        return best, RungStep(rung=reached + 1, after=None if reached == _NEVER else reached)

    def forecast(self, busy: Collection[int] = ()) -> Forecast:
        """What is expected of every candidate; those in training count as if they kept what is expected of them.

        Raises:
            InputError: no score was told yet.
        """
        pool = self._pool
        if not pool.uncertain:
            mean_N, std_N = pool.normalised(pool.costs_NM, (0,))[:, 0], np.zeros(len(pool))
            return Forecast(mean_N=mean_N, std_N=std_N, gain_N=self._gain(mean_N[:, None], std_N, busy))
        surrogates = self._surrogates()
        places = np.arange(len(pool))
        predicted = [surrogate.predict(pool.scaled_NX, places) for surrogate in surrogates]
        mean_NU = np.stack([mean for mean, _ in predicted], axis=1)
        return Forecast(mean_N=mean_NU[:, 0], std_N=predicted[0][1], gain_N=self._gain(mean_NU, predicted[0][1], busy))

    def _gain(self, mean_NU: Floats, std_N: Floats, busy: Collection[int]) -> Floats:
        """Expected gains; further uncertain objectives are taken at their means."""
        pool = self._pool
        costs_NM = pool.costs_NM.copy()
        if pool.uncertain:
            costs_NM[:, list(pool.uncertain)] = mean_NU
        for candidate, _, values in self._finished():
            costs_NM[candidate, list(pool.uncertain)] = values
        lead = pool.uncertain[0] if pool.uncertain else 0
        others = [m for m in range(costs_NM.shape[1]) if m != lead]
        span = float(pool.reference_M[lead] - pool.ideal_M[lead])
        lead_N, others_NK = pool.normalised(costs_NM, (lead,))[:, 0], pool.normalised(costs_NM, others)
        front = self._front(np.column_stack((lead_N, others_NK)), busy)
        return expected_hypervolume_improvement(
            lead_N, std_N / span, others_NK, lead_N[front], others_NK[front], np.ones(1 + len(others))
        )

    def _finished(self) -> list[tuple[int, int, tuple[float, ...]]]:
        scores, last = self._scores, len(self._rungs) - 1
        rows = zip(scores.candidate, scores.rung, scores.values, strict=True)
        return [row for row in rows if row[1] == last]

    def _front(self, costs_NM: Floats, busy: Collection[int]) -> NDArray[np.intp]:
        members = np.array(sorted({*(row[0] for row in self._finished()), *busy}), dtype=np.intp)
        return members[non_dominated(costs_NM[members])] if len(members) else members

    def _surrogates(self) -> list[Surrogate]:
        """One per uncertain objective."""
        scores = self._scores
        candidate_O = np.array(scores.candidate, dtype=np.intp)
        share_O = np.array([self._rungs[rung] for rung in scores.rung])
        values_OU = np.array(scores.values)
        grown = len(candidate_O) >= self._fitted_at * _GROWTH
        starts = self._theta_P or (None,) * values_OU.shape[1]
        fitted = [
            fit_surrogate(
                Observations(
                    features_OX=self._pool.scaled_NX[candidate_O],
                    candidate_O=candidate_O,
                    share_O=share_O,
                    value_O=values_OU[:, place],
                ),
                starts[place],
                steps=30 if grown else 0,
            )
            for place in range(values_OU.shape[1])
        ]
        if grown:
            self._theta_P, self._fitted_at = tuple(one.theta_P for one in fitted), len(candidate_O)
        return fitted

    def _seconds_left(self) -> Floats:
        """What the rest of each candidate's training is expected to take."""
        shares = np.array([0.0, *self._rungs])
        begun = self._reached_N != _NEVER
        whole_N = predicted_seconds(self._pool.scaled_NX, begun, self._seconds_N, shares[self._reached_N + 1])
        return whole_N * np.maximum(1.0 - shares[self._reached_N + 1], 1e-3)


def spread_out(pool: Pool, count: int) -> tuple[int, ...]:
    """Candidates to begin with: far from each other in features and known costs, the most usual one first."""
    known_NK = pool.normalised(pool.costs_NM, pool.known)
    places_NX = np.column_stack((pool.scaled_NX, known_NK)) if known_NK.shape[1] else pool.scaled_NX
    chosen = [int(np.argmin(((places_NX - np.median(places_NX, axis=0)) ** 2).sum(axis=1)))]
    distance_N = ((places_NX - places_NX[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < min(count, len(pool)) and distance_N.max() > 0:
        chosen.append(int(np.argmax(distance_N)))
        distance_N = np.minimum(distance_N, ((places_NX - places_NX[chosen[-1]]) ** 2).sum(axis=1))
    return tuple(chosen)
