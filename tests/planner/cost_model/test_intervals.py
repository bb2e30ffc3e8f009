import math

import numpy as np
import pytest

from planner.cost_model.intervals import cross_half_widths, deal_folds, fold_numbers, half_width
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
    widths = cross_half_widths(errors, folds)
    assert set(widths[:20].tolist()) == {0.5}
    assert set(widths[20:].tolist()) == {0.1}
