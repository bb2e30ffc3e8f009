"""How many queries and seeds a capacity needs to be known to a stated precision.

Stein's two stages (C. Stein, Annals of Mathematical Statistics 16, 1945): pilot runs tell the noise, from which follows
the sample that brings half of the 95 % interval down to the precision asked for. The noise of a seed's capacity falls
with the root of its queries, so longer runs are as good as more seeds, and end effects fall with the length: runs grow
first, up to what memory allows, then the seeds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from profiles.errors import InputError
from serving_sim.student import half_width_95

__all__ = ["MOST_QUERIES_PER_RUN", "MOST_SEEDS", "Sampling", "precision_of", "sampling_for"]

MOST_QUERIES_PER_RUN, MOST_SEEDS = 1_000_000, 100
# Noise is itself known from a few seeds only.
_RESERVE = 1.3


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How a capacity is searched: seeds `plan.seed`, `plan.seed + 1`, ... of so many queries each.

    `resolution` is the relative width at which a seed's bisection stops; with `early_stopping` a rate holds where
    MLPerf's early stopping says so.
    """

    queries: int = 100_000
    seeds: int = 5
    resolution: float = 0.002
    early_stopping: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.resolution < 1:
            raise InputError(f"resolution: must be in (0, 1), but got {self.resolution}")
        if self.seeds < 2 or self.queries < 1:
            raise InputError(f"seeds, queries: must be >= 2 and >= 1, but got {self.seeds} and {self.queries}")


def precision_of(by_seed: Sequence[float]) -> float | None:
    """Half of the 95 % interval over the mean; None where there is no capacity."""
    mean = math.fsum(by_seed) / len(by_seed)
    return half_width_95(by_seed) / mean if mean else None


def sampling_for(precision: float, reached: float, pilot: Sampling) -> Sampling:
    """The sampling that should reach the precision, from what a pilot reached."""
    more = _RESERVE * (reached / precision) ** 2
    if more <= 1:
        return pilot
    queries = min(math.ceil(pilot.queries * more), max(MOST_QUERIES_PER_RUN, pilot.queries))
    seeds = math.ceil(pilot.seeds * max(1.0, more * pilot.queries / queries))
    return replace(pilot, queries=queries, seeds=min(seeds, MOST_SEEDS))
