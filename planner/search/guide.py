"""Which candidate to train next, and how far: most expected gain per second of training still to come.

A candidate is trained rung by rung. After each rung all candidates compete again, begun or not: the one whose whole
training promises most for what is left of it goes one rung on. So a candidate that disappoints early is left where it
is, one that may yet surprise is promoted, and no schedule has to be set.

Gain is of two kinds, each in shares of the greatest: of hypervolume, which soon finds the corners of the front, and of
the accuracy to be had within each candidate's costs, which finds the members between them.

Suffixes: N candidates, O observations, M objectives, K known ones, P members of the front.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planner.search.evaluation import RungStep, check_rungs
from planner.search.expected_improvement import expected_hypervolume_improvement
from planner.search.front_improvement import expected_front_improvement
from planner.search.pareto import non_dominated
from planner.search.pool import Pool
from planner.search.surrogate import Observations, Surrogate, fit_surrogate
from planner.search.training_time import predicted_seconds
from profiles.errors import InputError

__all__ = ["Forecast", "Guide", "Prior", "spread_out"]

Floats = NDArray[np.float64]
# At least so many candidates are begun with.
_FIRST = 6
# The share of a candidate's gain that is of hypervolume, and of the chance in one training that counts as promise.
_VOLUME, _LUCK = 0.2, 0.5
# Parameters are looked for anew after each tenth more scores; in between only the scores are taken in.
_GROWTH = 1.1
_FIRST_FIT = 4
_NEVER = -1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Forecast:
    """What the surrogate says of each candidate after a whole training, in the objective's own units as a cost.

    `std_N` is of what can be known before training, and of a part of what is luck in one training: an unseen twin of a
    known candidate promises little.
    """

    mean_N: Floats
    std_N: Floats
    gain_N: Floats


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Prior:
    """What earlier studies lead one to expect of each candidate's first uncertain objective, both [N], as a cost."""

    mean_N: Floats
    std_N: Floats


@dataclass(kw_only=True, slots=True)
class _Scores:
    """Scores so far: of which candidate, at which rung, and the uncertain objectives' values."""

    candidate: list[int] = field(default_factory=list)
    rung: list[int] = field(default_factory=list)
    values: list[tuple[float, ...]] = field(default_factory=list)


class Guide:
    """Chooses from a pool.

    It begins with `first` and, where these are few, others far from them, unless a prior tells it better.

    `tell` it every score; the same scores in the same order make the same choices, whenever it was asked.
    """

    def __init__(
        self,
        pool: Pool,
        rungs: Sequence[float] = (1.0,),
        *,
        first: Sequence[int] = (),
        prior: Prior | None = None,
    ) -> None:
        check_rungs(tuple(rungs))
        self._pool, self._rungs, self._prior = pool, tuple(rungs), prior
        self._first = tuple(first) if prior else spread_out(pool, max(_FIRST, len(first)), first)
        self._scores = _Scores()
        self._reached_N = np.full(len(pool), _NEVER, dtype=np.intp)
        self._seconds_N = np.zeros(len(pool))
        self._open_N = np.ones(len(pool), dtype=np.bool_)
        self._theta_P: dict[int, tuple[Floats, ...]] = {}

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

    def grow(self, pool: Pool, prior: Prior | None = None) -> None:
        """Choose from a larger pool, which begins with the candidates so far; the prior is of all of it."""
        more = len(pool) - len(self._pool)
        if more < 0:
            raise InputError(f"guide: the pool must not shrink, but got {len(pool)} after {len(self._pool)}")
        self._pool, self._prior, self._theta_P = pool, prior, {}
        self._reached_N = np.concatenate((self._reached_N, np.full(more, _NEVER, dtype=np.intp)))
        self._seconds_N = np.concatenate((self._seconds_N, np.zeros(more)))
        self._open_N = np.concatenate((self._open_N, np.ones(more, dtype=np.bool_)))

    def drop(self, candidate: int) -> None:
        """Never ask for this candidate (again)."""
        self._open_N[candidate] = False

    def ask(
        self, busy: Collection[int] = (), *, left: float | None = None, left_s: float | None = None
    ) -> tuple[int, RungStep] | None:
        """The next step; `busy` candidates are in training now.

        `left` whole trainings' worth and `left_s` seconds may still be spent: what would not come to its end is not
        begun. None when nothing is left to train, or to train it with.
        """
        seconds_N, shares_N = self._seconds_left(), self._shares_left()
        open_N = self._open_N.copy()
        open_N[list(busy)] = False
        if left is not None:
            open_N &= shares_N <= left + 1e-9
        if left_s is not None:
            open_N &= seconds_N <= left_s
        if not open_N.any():
            return None
        for candidate in self._first:
            if open_N[candidate] and self._reached_N[candidate] == _NEVER:
                return candidate, RungStep(rung=0)
        gain_N = self.forecast(busy).gain_N / seconds_N
        best = int(np.argmax(np.where(open_N, gain_N, -np.inf)))
        reached = int(self._reached_N[best])
        return best, RungStep(rung=reached + 1, after=None if reached == _NEVER else reached)

    def forecast(self, busy: Collection[int] = ()) -> Forecast:
        """What is expected of every candidate; those in training count as if they kept what is expected of them."""
        from threadpoolctl import threadpool_limits

        # More threads only wait for each other: these matrices are small, and cores may be training.
        with threadpool_limits(1, user_api="blas"):
            return self._forecast(busy)

    def _forecast(self, busy: Collection[int]) -> Forecast:
        pool = self._pool
        if not pool.uncertain:
            mean_NU, std_N = np.zeros((len(pool), 0)), np.zeros(len(pool))
        elif not self._scores.candidate:
            mean_NU, std_N = self._expected_before()
        else:
            mean_NU, std_N = self._expected()
        lead_N = mean_NU[:, 0] if pool.uncertain else pool.costs_NM[:, 0]
        return Forecast(mean_N=lead_N, std_N=std_N, gain_N=self._gain(mean_NU, std_N, busy))

    def _expected_before(self) -> tuple[Floats, Floats]:
        """Means and standard deviations before any score: the prior's, else that nothing is known."""
        middle_M = (self._pool.reference_M + self._pool.ideal_M) / 2
        mean_NU = np.tile(middle_M[list(self._pool.uncertain)], (len(self._pool), 1))
        if self._prior is None:
            spread = float(np.ptp([self._pool.reference_M[self._lead], self._pool.ideal_M[self._lead]])) / 4
            return mean_NU, np.full(len(self._pool), spread)
        mean_NU[:, 0] = self._prior.mean_N
        return mean_NU, self._prior.std_N

    def _expected(self) -> tuple[Floats, Floats]:
        """Means of all uncertain objectives after a whole training, [N, U], and the first one's standard deviation."""
        places = np.arange(len(self._pool))
        predicted = [one.predict_apart(self._pool.scaled_NX, places) for one in self._surrogates()]
        mean_NU = np.stack([mean for mean, _, _ in predicted], axis=1)
        if self._prior is not None:
            mean_NU[:, 0] += self._prior.mean_N
        _, std_N, chance = predicted[0]
        return mean_NU, np.hypot(std_N, _LUCK * chance)

    @property
    def _lead(self) -> int:
        return self._pool.uncertain[0] if self._pool.uncertain else 0

    def _gain(self, mean_NU: Floats, std_N: Floats, busy: Collection[int]) -> Floats:
        """Expected gains; further uncertain objectives are taken at their means."""
        pool = self._pool
        costs_NM = pool.costs_NM.copy()
        if pool.uncertain:
            costs_NM[:, list(pool.uncertain)] = mean_NU
        for candidate, _, values in self._finished():
            costs_NM[candidate, list(pool.uncertain)] = values
        lead = self._lead
        others = [m for m in range(costs_NM.shape[1]) if m != lead]
        span = float(pool.reference_M[lead] - pool.ideal_M[lead])
        lead_N, others_NK = pool.normalised(costs_NM, (lead,))[:, 0], pool.normalised(costs_NM, others)
        front = self._front(np.column_stack((lead_N, others_NK)), busy)
        asked = lead_N, std_N / span, others_NK, lead_N[front], others_NK[front]
        volume_N = expected_hypervolume_improvement(*asked, np.ones(1 + len(others)))
        within_N = expected_front_improvement(*asked, worst=1.0)
        return _VOLUME * _shares(volume_N) + (1 - _VOLUME) * _shares(within_N)

    def _finished(self) -> list[tuple[int, int, tuple[float, ...]]]:
        scores, last = self._scores, len(self._rungs) - 1
        rows = zip(scores.candidate, scores.rung, scores.values, strict=True)
        return [row for row in rows if row[1] == last]

    def _front(self, costs_NM: Floats, busy: Collection[int]) -> NDArray[np.intp]:
        members = np.array(sorted({*(row[0] for row in self._finished()), *busy}), dtype=np.intp)
        return members[non_dominated(costs_NM[members])] if len(members) else members

    def _surrogates(self) -> list[Surrogate]:
        """One per uncertain objective, of what the prior leaves unexplained."""
        seen = self._observations()
        count = _fitted_at(len(seen[0].value_O))
        if count not in self._theta_P:
            self._theta_P = {count: tuple(fit_surrogate(one.first(count)).theta_P for one in seen)}
        return [Surrogate(one, theta_P) for one, theta_P in zip(seen, self._theta_P[count], strict=True)]

    def _observations(self) -> list[Observations]:
        scores = self._scores
        candidate_O = np.array(scores.candidate, dtype=np.intp)
        share_O = np.array([self._rungs[rung] for rung in scores.rung])
        values_OU = np.array(scores.values)
        if self._prior is not None:
            values_OU[:, 0] -= self._prior.mean_N[candidate_O]
        return [
            Observations(
                features_OX=self._pool.scaled_NX[candidate_O],
                candidate_O=candidate_O,
                share_O=share_O,
                value_O=value_O,
            )
            for value_O in values_OU.T
        ]

    def _seconds_left(self) -> Floats:
        """What the rest of each candidate's training is expected to take."""
        shares = np.array([0.0, *self._rungs])
        begun = self._reached_N != _NEVER
        whole_N = predicted_seconds(self._pool.scaled_NX, begun, self._seconds_N, shares[self._reached_N + 1])
        return whole_N * np.maximum(self._shares_left(), 1e-3)

    def _shares_left(self) -> Floats:
        """What is left of each candidate's training."""
        left_N: Floats = 1.0 - np.array([0.0, *self._rungs])[self._reached_N + 1]
        return left_N


def spread_out(pool: Pool, count: int, first: Sequence[int] = ()) -> tuple[int, ...]:
    """Candidates to begin with: `first`, then others as far from these as can be in features and known costs.

    Others are taken from the half of the pool whose known costs leave the hypervolume most to gain. Where there is no
    first one, it is the most usual candidate.
    """
    known_NK = pool.normalised(pool.costs_NM, pool.known)
    places_NX = np.column_stack((pool.scaled_NX, known_NK)) if known_NK.shape[1] else pool.scaled_NX
    usual = int(np.argmin(((places_NX - np.median(places_NX, axis=0)) ** 2).sum(axis=1)))
    chosen = list(dict.fromkeys(first)) or [usual]
    distance_N = np.min([((places_NX - places_NX[one]) ** 2).sum(axis=1) for one in chosen], axis=0)
    box_N = np.prod(np.clip(1 - known_NK, 0, None), axis=1)
    promising_N = box_N >= np.median(box_N)
    while len(chosen) < min(count, len(pool)) and (promising_N & (distance_N > 0)).any():
        chosen.append(int(np.argmax(np.where(promising_N, distance_N, -1.0))))
        distance_N = np.minimum(distance_N, ((places_NX - places_NX[chosen[-1]]) ** 2).sum(axis=1))
    return tuple(chosen)


def _shares(gain_N: Floats) -> Floats:
    """Gains in shares of the greatest, which may be none."""
    shares_N: Floats = gain_N / max(float(gain_N.max()), 1e-300)
    return shares_N


def _fitted_at(count: int) -> int:
    """Of how many of these scores the parameters are: of a number that does not depend on when anyone asked."""
    fitted = min(count, _FIRST_FIT)
    while (following := math.ceil(fitted * _GROWTH)) <= count:
        fitted = following
    return fitted
