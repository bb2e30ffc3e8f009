"""Tables of trainings that never were, over the candidates of the real one: does a search do well on these too?

Accuracy is invented anew for each seed: representations differ in how good they are, how much they lose when small, and
how late they learn; choices help or harm a little, under each representation to another degree; and all is noisy.
Suffixes: N candidates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.search.space import Choices
from representations.metrics import Metrics
from tests.benchmarks.search_table import FinishedTraining, SearchTable

__all__ = ["NOISE", "invented_table"]

Floats = NDArray[np.float64]
# What a usual value of each number is; more of the last two is less capacity.
_USUAL = {
    "dim": 6.0,
    "dhe_k": 64.0,
    "dhe_width": 32.0,
    "dhe_depth": 1.4,
    "tt_rank": 4.0,
    "qr_collisions": 16.0,
    "robe_compression": 16.0,
}
_SHRINKS = ("qr_collisions", "robe_compression")
# AUC from seed to seed at the end; what is still to be gained after a ninth and a third of a training; chance.
NOISE, _TO_GAIN, _CHANCE = 0.003, np.array([0.042, 0.016]), 0.5


@dataclass(frozen=True)
class _World:
    """How good choices are."""

    rng: np.random.Generator
    kinds: tuple[str, ...]

    @cached_property
    def best(self) -> float:
        return float(self.rng.uniform(0.70, 0.82))

    @cached_property
    def loss(self) -> Mapping[str, float]:
        return {kind: self._often(0.012, 3) for kind in self.kinds}

    @cached_property
    def lateness(self) -> Mapping[str, float]:
        factors = np.where(self.rng.random(len(self.kinds)) < 0.7, 1, 4)
        return dict(zip(self.kinds, factors * np.exp(self.rng.normal(0, 0.35, len(self.kinds))), strict=True))

    @cached_property
    def smallness(self) -> Mapping[str, tuple[float, float]]:
        """How much each kind loses at its smallest, and in how many doublings of its bytes half of that is made up."""
        return {kind: (self.rng.exponential(0.05), self.rng.uniform(1, 3)) for kind in self.kinds}

    @cached_property
    def slopes(self) -> Mapping[tuple[str, str], float]:
        return {(kind, name): self.rng.normal(0.001, 0.0045) for kind in self.kinds for name in _USUAL}

    @cached_property
    def by_hashing(self) -> Floats:
        """What it costs that one, two or more features have a DHE alone."""
        return np.array([0.0, self.rng.exponential(0.006), self.rng.exponential(0.05)])

    def accuracy(self, choices: Choices, doublings: float) -> float:
        """At the end of a training, chance apart; `doublings` of its bytes from the smallest candidate's."""
        kind = str(choices["representation"])
        most, half = self.smallness[kind]
        value = self.best - self.loss[kind] - most * 2 ** (-doublings / half) - self.by_hashing[_hashed(choices)]
        for name, usual in _USUAL.items():
            if name in choices:
                steps = float(np.log2(float(choices[name]) / usual))
                value += self.slopes[kind, name] * steps - 0.006 * steps * (name in _SHRINKS)
        return float(value)

    def _often(self, mean: float, factor: float) -> float:
        return float(self.rng.exponential(mean) * (1 if self.rng.random() < 0.7 else factor))


def invented_table(table: SearchTable, seed: int) -> SearchTable:
    """The same candidates with the same seconds, and scores of another world."""
    rng = np.random.default_rng(seed)
    rows = list(table.trainings.values())
    world = _World(rng, tuple(sorted({str(row.choices["representation"]) for row in rows})))
    bits_N = np.log2([table.task.candidate(row.choices).model.parameter_bytes for row in rows])
    final_N = np.array([world.accuracy(row.choices, b - bits_N.min()) for row, b in zip(rows, bits_N, strict=True)])
    late_N = np.array([world.lateness[str(row.choices["representation"])] for row in rows])
    late_N *= np.where([_hashed(row.choices) == 2 for row in rows], 1.6, 1.0) * np.exp(rng.normal(0, 0.1, len(rows)))
    noise_N3 = rng.normal(0, NOISE, (len(rows), 3))
    scores = np.column_stack((final_N[:, None] - late_N[:, None] * _TO_GAIN, final_N)) + noise_N3
    scores = np.maximum(scores, _CHANCE + np.abs(rng.normal(0, 0.02, scores.shape)))
    tests_N = scores[:, 2] - 0.004 + rng.normal(0, NOISE / 2, len(rows))
    made = [_rescored(row, [*one, test]) for row, one, test in zip(rows, scores, tests_N, strict=True)]
    return replace(table, trainings=dict(zip(table.trainings, made, strict=True)))


def _hashed(choices: Choices) -> int:
    """0, 1 or 2 for one, two or more features with a DHE alone; 0 also for none."""
    if choices["representation"] == "dhe":
        return 2
    return int(choices.get("select_largest", 1)) - 1


def _rescored(row: FinishedTraining, aucs: list[float]) -> FinishedTraining:
    *at_rungs, test = [Metrics(auc=float(auc), log_loss=1 - float(auc), accuracy=float(auc)) for auc in aucs]
    rungs = tuple(replace(rung, validation=one) for rung, one in zip(row.rungs, at_rungs, strict=True))
    return replace(row, rungs=rungs, test=test)
