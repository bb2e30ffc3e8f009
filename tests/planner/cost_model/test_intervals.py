import math

import numpy as np
import pytest

from planner.cost_model.intervals import (
    cross_half_widths,
    deal_folds,
    fit_widths,
    fold_numbers,
    half_width,
    widening_per_doubling,
)
from profiles.component import make_component
from tests.planner.cost_model.synthetic import linears, random_sizes


def test_the_half_width_covers_nine_in_ten_of_new_errors() -> None:
    rng = np.random.default_rng(0)
    covered = [np.mean(np.abs(rng.normal(0, 0.1, 200)) <= half_width(rng.normal(0, 0.1, 50))) for _ in range(200)]
    assert np.mean(covered) == pytest.approx(0.9, abs=0.02)


def test_too_few_errors_for_the_quantile_widen_it() -> None:
    assert half_width(np.array([0.1, -0.2, 0.05])) == pytest.approx(0.3)
    assert half_width(np.array([0.1])) == pytest.approx(math.log(2))


def test_all_batches_of_a_shape_share_a_fold() -> None:
    components = linears(random_sizes(12, 0))
    folds = fold_numbers(components, seed=3).reshape(12, -1)
    assert (folds == folds[:, :1]).all()
    assert len(set(folds[:, 0].tolist())) == 5


def test_with_few_shapes_single_rows_are_dealt() -> None:
    folds = fold_numbers(linears([(8, 8), (16, 16)]), seed=3)
    assert sorted(folds.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_encoders_that_differ_in_the_range_of_ids_alone_are_held_out_together() -> None:
    encoders = [
        make_component("dhe_encoder", 8, {"k": k, "rows": rows, "transform": "uniform"})
        for rows in (10, 1000, 10**6)
        for k in range(2, 20, 2)
    ]
    folds = fold_numbers(encoders, seed=3).reshape(3, -1)
    assert (folds == folds[0]).all()


def test_a_component_of_no_fold_is_held_out_nowhere() -> None:
    folds = deal_folds(linears(random_sizes(12, 0)), seed=3)
    assert folds.by_shape
    assert folds.of(linears([(3, 5)], (1,))[0]) is None


def test_a_folds_interval_comes_from_the_other_folds() -> None:
    errors = np.array([0.1] * 20 + [0.5] * 20)
    folds = np.array([0] * 20 + [1] * 20)
    widths = cross_half_widths(errors, np.ones(40), folds)
    np.testing.assert_allclose(widths[:20], 0.5, rtol=1e-6)
    np.testing.assert_allclose(widths[20:], 0.1, rtol=1e-6)


def test_widths_grow_where_errors_grow_with_the_distance_and_cover() -> None:
    rng = np.random.default_rng(0)
    distance = rng.uniform(0, 4, 4000)
    errors = rng.normal(0, 0.02 + 0.05 * distance)
    widths = fit_widths(errors[:2000], distance[:2000]).at(distance[2000:])
    near = distance[2000:] < 1
    covered = np.abs(errors[2000:]) <= widths
    assert covered[near].mean() == pytest.approx(0.9, abs=0.06)
    assert covered[~near].mean() == pytest.approx(0.9, abs=0.06)
    assert widths[near].mean() < 0.5 * widths[~near].mean()


def test_few_errors_widen_alike_everywhere() -> None:
    widths = fit_widths(np.array([0.1, 0.2, 0.15]), np.array([1.0, 2.0, 3.0])).at(np.array([0.0, 9.0]))
    np.testing.assert_allclose(widths, 0.3)


def test_what_lies_beyond_the_range_widens_as_the_errors_there_ask() -> None:
    assert widening_per_doubling(np.full(10, 1.0), np.full(10, 0.2), np.full(10, 2.0)) == pytest.approx(0.4)
    assert widening_per_doubling(np.full(6, 1.0), np.full(6, 0.2), np.full(6, 2.0)) == pytest.approx(0.6)
    assert widening_per_doubling(np.zeros(10), np.full(10, 0.2), np.full(10, 2.0)) == pytest.approx(0.15)
    assert widening_per_doubling(np.full(2, 5.0), np.zeros(2), np.ones(2)) == pytest.approx(0.15)
