"""Which label of three visits tells what a component costs on a machine with spells of slowness: a simulation.

    python -m tests.benchmarks.label_choice

A visit is a run of samples at a level; a spell, of which wall over CPU time tells nothing, raises the level of all
visits that it covers. Each label is compared with what it says of a machine without spells.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.cost_model.estimates import Floats

__all__ = ["LABELS", "Spells", "label_errors", "main"]

LABELS = ("pooled p25", "least p25", "median p25", "pooled median")
_VISITS, _SAMPLES, _GAP_S = 3, 30, 5.0
_SAMPLE_SIGMA, _VISIT_SIGMA = 0.015, 0.02
_OUTLIERS, _OUTLIER_SIZE, _SLOWNESS = 0.1, 0.2, 0.4


@dataclass(frozen=True, kw_only=True, slots=True)
class Spells:
    """Slow spells of exponential length that cover a share of the time."""

    share: float
    seconds: float


def label_errors(spells: Spells, *, points: int = 1500, seed: int = 0) -> Mapping[str, Floats]:
    """Relative errors [points] of each label, against its median without spells."""
    quiet = _labels(Spells(share=0.0, seconds=1.0), points, seed)
    noisy = _labels(spells, points, seed + 1)
    return {name: np.abs(noisy[name] / np.median(quiet[name]) - 1) for name in LABELS}


def main() -> None:
    """Print the mean and the 90th percentile of the error by share and length of the spells."""
    print("share  length " + "".join(f"{name:>18}" for name in LABELS))  # noqa: T201 (what it is for)
    for share in (0.0, 0.1, 0.25, 0.5):
        for seconds in (1.0, 10.0, 60.0):
            errors = label_errors(Spells(share=share, seconds=seconds))
            cells = [f"{one.mean():8.1%} /{np.percentile(one, 90):6.1%}" for one in errors.values()]
            print(f"{share:5.0%} {seconds:5g} s " + "".join(f"{cell:>18}" for cell in cells))  # noqa: T201


def _labels(spells: Spells, points: int, seed: int) -> Mapping[str, Floats]:
    rng = np.random.default_rng(seed)
    visits = [_visits(rng, spells) for _ in range(points)]
    quartiles = np.array([np.percentile(one, 25, axis=1) for one in visits])
    return {
        "pooled p25": np.array([np.percentile(one, 25) for one in visits]),
        "least p25": quartiles.min(axis=1),
        "median p25": np.median(quartiles, axis=1),
        "pooled median": np.array([np.median(one) for one in visits]),
    }


def _visits(rng: np.random.Generator, spells: Spells) -> Floats:
    """[visits, samples]: latencies of a component whose cost is 1."""
    levels = _levels(rng, spells) * np.exp(rng.normal(0, _VISIT_SIGMA, _VISITS))
    shape = (_VISITS, _SAMPLES)
    outliers = (rng.random(shape) < _OUTLIERS) * rng.exponential(_OUTLIER_SIZE, shape)
    samples: Floats = levels[:, None] * np.exp(np.abs(rng.normal(0, _SAMPLE_SIGMA, shape))) * (1 + outliers)
    return samples


def _levels(rng: np.random.Generator, spells: Spells) -> Floats:
    if not spells.share:
        return np.ones(_VISITS)
    means = {True: spells.seconds, False: spells.seconds * (1 - spells.share) / spells.share}
    is_slow = bool(rng.random() < spells.share)
    ends, factor, levels = rng.exponential(means[is_slow]), 1 + rng.exponential(_SLOWNESS), []
    for place in range(_VISITS):
        while ends < place * _GAP_S:
            is_slow, factor = not is_slow, 1 + rng.exponential(_SLOWNESS)
            ends += rng.exponential(means[is_slow])
        levels.append(factor if is_slow else 1.0)
    return np.array(levels)


if __name__ == "__main__":
    main()
