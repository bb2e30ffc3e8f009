"""The next candidate: first one per representation, then the sampler's wish, never one that was tried before."""

import random
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal

import numpy as np
import optuna
from optuna.samplers import BaseSampler, NSGAIISampler, TPESampler
from optuna.trial import Trial

from planner.search.candidate import Candidate
from planner.search.journal import Journal
from planner.search.screening import Screening
from planner.search.space import Choices, enumerate_choices, first_wishes
from planner.search.task import SearchTask

__all__ = ["Proposals", "SamplerName", "first_candidates", "nearest_choices"]

SamplerName = Literal["tpe", "nsga2"]
# In a small space samplers repeat themselves: after this many idle trials in a row the nearest new candidate is taken.
_MOST_IDLE = 2
_STARTUP_TRIALS = 8
_POPULATION = 16
_FRESH_DRAWS = 512
_FIRST_OF_GROUPS = 4


def _tpe(seed: int) -> BaseSampler:
    return TPESampler(seed=seed, n_startup_trials=_STARTUP_TRIALS)


def _nsga2(seed: int) -> BaseSampler:
    return NSGAIISampler(seed=seed, population_size=_POPULATION)


_SAMPLERS: Mapping[SamplerName, Callable[[int], BaseSampler]] = {"tpe": _tpe, "nsga2": _nsga2}


class Proposals:
    """Asks the study for trials whose candidates are new."""

    def __init__(self, task: SearchTask, journal: Journal, screening: Screening, sampler: SamplerName) -> None:
        self._task, self._journal, self._screening = task, journal, screening
        self._sampler = _SAMPLERS[sampler]
        self._first = deque(first_candidates(task, screening))

    def ask(self, taken: Collection[str]) -> tuple[Trial, Candidate] | None:
        """A trial and its candidate, whose key is not in `taken`; None when the space is used up."""
        while (wish := self._wish(taken)) is not False:
            trial = self._asked(wish)
            candidate = self._task.candidate(self._task.space.suggest(trial))
            if candidate.key not in taken:
                return trial, candidate
            self._journal.discard(trial, candidate.key)
        return None

    def _wish(self, taken: Collection[str]) -> Choices | Literal[False] | None:
        """Choices to force, None to leave them to the sampler, False when nothing new is left."""
        while self._first:
            candidate = self._first.popleft()
            if candidate.key not in taken:
                return candidate.choices
        fresh = [candidate for candidate in self._screening.feasible if candidate.key not in taken]
        if not fresh and self._screening.complete:
            return False
        if self._journal.idle_streak < _MOST_IDLE:
            return None
        fresh = fresh or self._drawn_afresh(taken)
        if not fresh:
            return False
        rng = random.Random(self._task.sampling_seed(self._journal.asked))
        return nearest_choices(self._last_wish(), [candidate.choices for candidate in fresh], rng)

    def _asked(self, wish: Choices | None) -> Trial:
        study = self._journal.study
        study.sampler = self._sampler(self._task.sampling_seed(self._journal.asked))
        if wish is not None:
            study.enqueue_trial(dict(wish))
        return study.ask()

    def _drawn_afresh(self, taken: Collection[str]) -> list[Candidate]:
        seed = self._task.sampling_seed(self._journal.asked)
        section, space = self._task.section.space, self._task.space
        if section.is_flat:
            choices: Iterable[Choices] = enumerate_choices(section, _FRESH_DRAWS, seed)
        else:
            choices = map(space.choices, space.sample(_FRESH_DRAWS, np.random.default_rng(seed)))
        drawn = map(self._task.candidate, choices)
        return [candidate for candidate in drawn if candidate.key not in taken]

    def _last_wish(self) -> Choices:
        last: optuna.trial.FrozenTrial = self._journal.study.get_trials(deepcopy=False)[-1]
        return last.params


def nearest_choices(wish: Choices, offered: list[Choices], rng: random.Random) -> Choices:
    """The offered choices that differ from `wish` in the fewest places; ties are drawn by `rng`."""
    distances = [sum(wish.get(name) != choices.get(name) for name in {*wish, *choices}) for choices in offered]
    least = min(distances)
    return rng.choice([choices for choices, distance in zip(offered, distances, strict=True) if distance == least])


def first_candidates(task: SearchTask, screening: Screening) -> list[Candidate]:
    """Per representation the feasible candidate nearest to the one to begin with; none where none is feasible.

    Where groups of features choose, a few of the screened front, which lie far from each other.
    """
    if task.section.space.groups:
        return list(screening.feasible[:_FIRST_OF_GROUPS])
    rng = random.Random(task.sampling_seed(0))
    first = []
    for wish in first_wishes(task.section.space):
        feasible = [candidate.choices for candidate in screening.feasible]
        alike = [choices for choices in feasible if choices["representation"] == wish["representation"]]
        if alike:
            first.append(task.candidate(nearest_choices(wish, alike, rng)))
    return first
