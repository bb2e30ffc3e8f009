from itertools import product

import numpy as np

from planner.cost_model.features import drivers_of
from planner.cost_model.roofline import PhysicalLimits
from planner.cost_model.sampling.surrogate import Surrogate, fit_surrogate
from profiles.component import Component
from representations.work import work_of
from tests.planner.cost_model.synthetic import linears, random_sizes, roofline_ms

LIMITS = PhysicalLimits(flops_per_s=2e12, bytes_per_s=2e12)
ROWS = linears(random_sizes(24, seed=0), batches=(1, 64))


def fitted(rows: list[Component], factor: dict[Component, float] | None = None) -> Surrogate:
    labels = np.array([roofline_ms(row) * (factor or {}).get(row, 1.0) for row in rows])
    return fit_surrogate(drivers_of(rows, work_of), labels, LIMITS, [row.shape for row in rows])


def test_a_roofline_is_learned_without_error() -> None:
    assert fitted(ROWS).mape < 0.01


def test_shapes_are_held_out_whole() -> None:
    # Rows of one shape are alike and wrong together: what is left out must not be told by its twin.
    off = {row: 3.0 for row in ROWS if row.shape == ROWS[0].shape}
    errors = np.abs(fitted(ROWS, off).held_out_N)
    assert errors[:2].min() > 0.5
    assert errors[2:].mean() < 0.3


def test_choices_are_distinct_and_not_beside_each_other() -> None:
    candidates = linears(random_sizes(40, seed=3), batches=(1,))
    doubled = [*candidates, *candidates]
    chosen = fitted(ROWS).choose(drivers_of(doubled, work_of), 10)
    assert len({doubled[place] for place in chosen}) == 10
    assert len(fitted(ROWS).choose(drivers_of(candidates, work_of), 100)) == 40


def test_points_go_where_the_model_was_wrong() -> None:
    middle = float(np.median([int(row["in_features"]) for row in ROWS]))
    candidates = linears(random_sizes(80, seed=5), batches=(64,))
    hits = []
    for seed, is_low in product(range(3), (True, False)):
        rng = np.random.default_rng(seed)
        off = {row: float(np.exp(rng.normal(0, 0.5))) for row in ROWS if (int(row["in_features"]) < middle) == is_low}
        chosen = fitted(ROWS, off).choose(drivers_of(candidates, work_of), 12)
        hits += [(int(candidates[place]["in_features"]) < middle) == is_low for place in chosen]
    assert np.mean(hits) > 0.6
