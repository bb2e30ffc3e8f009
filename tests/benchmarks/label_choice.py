"""Which label of a component's visits tells what it costs on a machine with spells of slowness: a simulation.

    python -m tests.benchmarks.label_choice

A visit is a run of samples at a level; a spell, of which wall over CPU time tells nothing, raises the level of all
visits that it covers. Each label is compared with what it says of a machine without spells. The first labels are of
three visits, `agreeing` of as many as it takes until two that are
not neighbours agree with the fastest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from planner.cost_model.estimates import Floats

__all__ = ["LABELS", "Spells", "label_errors", "main", "visits_needed"]

AGREEMENT, FEWEST, MOST = 0.02, 3, 15
_SAMPLES, _GAP_S = 30, 10.0
_SAMPLE_SIGMA, _VISIT_SIGMA = 0.015, 0.01
_OUTLIERS, _OUTLIER_SIZE, _SLOWNESS = 0.1, 0.2, 0.4


@dataclass(frozen=True, kw_only=True, slots=True)
class Spells:
    """Slow spells of exponential length that cover a share of the time."""

    share: float
    seconds: float


LABELS: Mapping[str, Callable[[Floats], float]] = {
    "pooled p25": lambda visits_VS: float(np.percentile(visits_VS[:FEWEST], 25)),
    "least p25": lambda visits_VS: float(_quartiles(visits_VS[:FEWEST]).min()),
    "median p25": lambda visits_VS: float(np.median(_quartiles(visits_VS[:FEWEST]))),
    "agreeing": lambda visits_VS: _agreeing(visits_VS[: visits_needed(visits_VS)]),
}


def visits_needed(visits_VS: Floats) -> int:
    """After how many of the visits [V, samples] two that are not neighbours agree with the fastest, if ever."""
    quartiles = _quartiles(visits_VS)
    for count in range(FEWEST, len(quartiles)):
        near = np.flatnonzero(quartiles[:count] <= quartiles[:count].min() * (1 + AGREEMENT))
        if near[-1] - near[0] >= 2:
            return count
    return len(quartiles)


def label_errors(spells: Spells, *, points: int = 1500, seed: int = 0) -> Mapping[str, Floats]:
    """Relative errors [points] of each label, against its median without spells."""
    quiet, noisy = _visits(Spells(share=0.0, seconds=1.0), points, seed), _visits(spells, points, seed + 1)
    return {
        name: np.abs(np.array([label(one) for one in noisy]) / np.median([label(one) for one in quiet]) - 1)
        for name, label in LABELS.items()
    }


def main() -> None:
    """Print the mean and the 90th percentile of the error by share and length of the spells."""
    print("share  length " + "".join(f"{name:>18}" for name in LABELS) + "  visits")  # noqa: T201 (what it is for)
    for share in (0.0, 0.1, 0.25, 0.5):
        for seconds in (1.0, 5.0, 20.0):
            spells = Spells(share=share, seconds=seconds)
            cells = [f"{one.mean():8.1%} /{np.percentile(one, 90):6.1%}" for one in label_errors(spells).values()]
            needed = np.mean([visits_needed(one) for one in _visits(spells, 500, 1)])
            print(f"{share:5.0%} {seconds:5g} s " + "".join(f"{cell:>18}" for cell in cells) + f"{needed:8.1f}")  # noqa: T201


def _quartiles(visits_VS: Floats) -> Floats:
    quartiles: Floats = np.percentile(visits_VS, 25, axis=1)
    return quartiles


def _agreeing(visits_VS: Floats) -> float:
    quartiles = _quartiles(visits_VS)
    near = quartiles <= max(quartiles.min() * (1 + AGREEMENT), np.sort(quartiles)[1])
    return float(np.percentile(visits_VS[near], 25))


def _visits(spells: Spells, points: int, seed: int) -> list[Floats]:
    rng = np.random.default_rng(seed)
    return [_visits_of_one(rng, spells) for _ in range(points)]


def _visits_of_one(rng: np.random.Generator, spells: Spells) -> Floats:
    """[visits, samples]: latencies of a component whose cost is 1."""
    levels = _levels(rng, spells) * np.exp(rng.normal(0, _VISIT_SIGMA, MOST))
    shape = (MOST, _SAMPLES)
    outliers = (rng.random(shape) < _OUTLIERS) * rng.exponential(_OUTLIER_SIZE, shape)
    samples: Floats = levels[:, None] * np.exp(np.abs(rng.normal(0, _SAMPLE_SIGMA, shape))) * (1 + outliers)
    return samples


def _levels(rng: np.random.Generator, spells: Spells) -> Floats:
    if not spells.share:
        return np.ones(MOST)
    means = {True: spells.seconds, False: spells.seconds * (1 - spells.share) / spells.share}
    is_slow = bool(rng.random() < spells.share)
    ends, factor, levels = rng.exponential(means[is_slow]), 1 + rng.exponential(_SLOWNESS), []
    for place in range(MOST):
        while ends < place * _GAP_S:
            is_slow, factor = not is_slow, 1 + rng.exponential(_SLOWNESS)
            ends += rng.exponential(means[is_slow])
        levels.append(factor if is_slow else 1.0)
    return np.array(levels)


if __name__ == "__main__":
    main()
