import numpy as np
import pytest

from profiles.preprocessors.more_ids import more_ids


@pytest.mark.parametrize("exponent", [1.2, 1.5])
def test_a_longer_sample_holds_about_as_many_ids_as_a_true_one(exponent: float) -> None:
    rng = np.random.default_rng(0)
    true = np.minimum(rng.zipf(exponent, 32_000) - 1, 99_999)
    longer = np.concatenate([true[:1_000], more_ids(true[:1_000], 31_000, 0, 99_999, rng)])
    assert len(np.unique(longer)) == pytest.approx(len(np.unique(true)), rel=0.25)


def test_ids_that_were_all_different_go_on_being_different() -> None:
    drawn = more_ids(np.arange(0, 1_000_000, 10_000), 900, 0, 999_999, np.random.default_rng(0))
    assert len(np.unique(drawn)) > 890


def test_ids_that_all_came_again_bring_no_new_ones() -> None:
    seen = np.repeat(np.arange(5), 4)
    assert set(more_ids(seen, 1_000, 0, 99, np.random.default_rng(0))) == set(range(5))


def test_new_ids_are_any_in_the_range() -> None:
    drawn = more_ids(np.array([2, 5, 9]), 5_000, 0, 10, np.random.default_rng(0))
    assert {2, 5, 9, *drawn} == set(range(11))


def test_where_no_id_is_left_those_seen_are_drawn() -> None:
    drawn = more_ids(np.array([4, 5, 6]), 100, 4, 6, np.random.default_rng(0))
    assert set(drawn) == {4, 5, 6}


def test_frequent_ids_stay_frequent() -> None:
    seen = np.array([7] * 90 + [1] * 10)
    drawn = more_ids(seen, 10_000, 0, 9, np.random.default_rng(0))
    assert (drawn == 7).mean() == pytest.approx(0.9, abs=0.02)
