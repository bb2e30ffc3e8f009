import numpy as np
import pytest

from profiles.preprocessors.more_ids import more_ids


def test_draws_see_about_as_many_new_ids_as_a_larger_sample_would() -> None:
    rng = np.random.default_rng(0)
    sample = np.minimum(rng.zipf(1.3, 20_000) - 1, 9_999)
    seen = sample[:2_000]
    drawn = more_ids(seen, 2_000, 0, 9_999, rng)
    true_new = np.isin(sample[2_000:4_000], seen, invert=True).mean()
    assert np.isin(drawn, seen, invert=True).mean() == pytest.approx(true_new, abs=0.03)


def test_ids_that_all_came_again_bring_no_new_ones() -> None:
    seen = np.repeat(np.arange(5), 4)
    assert set(more_ids(seen, 1_000, 0, 99, np.random.default_rng(0))) == set(range(5))


def test_new_ids_are_any_in_the_range_but_those_seen() -> None:
    drawn = more_ids(np.array([2, 5, 9]), 5_000, 0, 10, np.random.default_rng(0))
    assert set(drawn) == {0, 1, 3, 4, 6, 7, 8, 10}


def test_where_no_id_is_left_those_seen_are_drawn() -> None:
    drawn = more_ids(np.array([4, 5, 6]), 100, 4, 6, np.random.default_rng(0))
    assert set(drawn) == {4, 5, 6}


def test_frequent_ids_stay_frequent() -> None:
    seen = np.array([7] * 90 + [1] * 10)
    drawn = more_ids(seen, 10_000, 0, 9, np.random.default_rng(0))
    assert (drawn == 7).mean() == pytest.approx(0.9, abs=0.02)
