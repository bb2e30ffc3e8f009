"""How much of a difference in accuracy is chance: finalists trained again from other seeds.

Suffixes: C candidates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.search.objective import METRICS
from planner.search.records import Repeat, SearchResult, TrialRecord
from profiles.errors import UnknownNameError

__all__ = ["SeedNoise", "seed_noise"]

# Of a normal difference 95 % lie within so many standard errors.
_STANDARD_ERRORS = 1.96


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedNoise:
    """The standard deviation of a metric from seed to seed, pooled over the candidates that were trained again.

    `means` and `counts` are of each such trial, all of its trainings included.
    """

    metric: str
    std: float
    means: dict[int, float]
    counts: dict[int, int]

    def tells_apart(self, one: TrialRecord, other: TrialRecord) -> bool:
        """Whether two trials differ by more than chance does in 19 of 20 cases."""
        values = [self.means.get(trial.number, trial.value(self.metric, "")) for trial in (one, other)]
        shares = [1 / self.counts.get(trial.number, 1) for trial in (one, other)]
        return abs(values[0] - values[1]) > _STANDARD_ERRORS * self.std * math.sqrt(sum(shares))


def seed_noise(result: SearchResult, metric: str) -> SeedNoise | None:
    """The noise of `auc`, `log_loss` or `accuracy`; None where no trial was trained again.

    Raises:
        UnknownNameError: another metric.
    """
    if metric not in METRICS:
        raise UnknownNameError("metric", metric, METRICS)
    repeated = [trial for trial in result.feasible if result.repeats.get(trial.number)]
    values = {trial.number: _values(trial, result.repeats[trial.number], metric) for trial in repeated}
    freedom = sum(len(one) - 1 for one in values.values())
    if not freedom:
        return None
    means = {number: math.fsum(one) / len(one) for number, one in values.items()}
    squares = math.fsum((value - means[number]) ** 2 for number, one in values.items() for value in one)
    counts = {number: len(one) for number, one in values.items()}
    return SeedNoise(metric=metric, std=math.sqrt(squares / freedom), means=means, counts=counts)


def _values(trial: TrialRecord, repeats: Sequence[Repeat], metric: str) -> list[float]:
    return [trial.value(metric, ""), *(float(getattr(repeat, metric)) for repeat in repeats)]
