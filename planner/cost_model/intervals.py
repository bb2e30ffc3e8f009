"""90 % intervals from held-out errors (split conformal prediction), and the folds that hold rows out."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Floats
from profiles.component import Component

__all__ = ["COVERAGE", "FOLDS", "cross_half_widths", "fold_numbers", "half_width"]

COVERAGE = 0.9
FOLDS = 5
# With fewer errors than this no quantile of them reaches the coverage; then a factor of two stands in.
_FEWEST_ERRORS = 3
_ASSUMED_HALF_WIDTH = math.log(2)
_LEAST_HALF_WIDTH = 0.01


def half_width(log_errors: Floats) -> float:
    """Half the interval's width in logs: the conformal quantile of |log(measured / predicted)|.

    With too few errors for the quantile, half as much again as the largest; below three errors, a factor of 2.
    """
    errors = np.sort(np.abs(log_errors))
    if len(errors) < _FEWEST_ERRORS:
        return _ASSUMED_HALF_WIDTH
    rank = math.ceil((len(errors) + 1) * COVERAGE)
    width = 1.5 * errors[-1] if rank > len(errors) else errors[rank - 1]
    return max(float(width), _LEAST_HALF_WIDTH)


def fold_numbers(components: Sequence[Component], *, seed: int, folds: int = FOLDS) -> NDArray[np.int64]:
    """[N]: the fold that holds each row out.

    All batches of a shape share a fold, so that held-out errors are those of shapes never seen; with fewer shapes than
    folds, single rows are dealt instead.
    """
    specs = [component.spec() for component in components]
    groups = sorted(set(specs))
    if len(groups) < folds:
        specs = [f"{spec}|{component.batch:012d}" for spec, component in zip(specs, components, strict=True)]
        groups = sorted(set(specs))
    dealt = np.random.default_rng(seed).permutation(len(groups)) % folds
    fold_of_group = dict(zip(groups, dealt.tolist(), strict=True))
    return np.array([fold_of_group[spec] for spec in specs], dtype=np.int64)


def cross_half_widths(log_errors: Floats, fold_N: NDArray[np.int64]) -> Floats:
    """[N]: half-widths for each row from the errors of the other folds, so that coverage can be measured honestly."""
    widths = np.empty(len(log_errors))
    for fold in np.unique(fold_N):
        held_out = fold_N == fold
        widths[held_out] = half_width(log_errors[~held_out])
    return widths
