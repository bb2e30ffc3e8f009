import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import InputError
from representations.zipf import expected_distinct, fit_exponent, sample_ids, sample_ranks


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.3, 2.0])
def test_ranks_follow_the_law(exponent: float) -> None:
    ranks = sample_ranks(np.random.default_rng(0), 50, exponent, 100_000)
    weights = np.arange(1.0, 51.0) ** -exponent
    shares = np.bincount(ranks, minlength=51)[1:] / 100_000
    assert np.abs(shares - weights / weights.sum()).max() < 0.006


@given(rows=st.integers(1, 2**40), exponent=st.floats(0, 3), seed=st.integers(0, 100))
def test_ids_lie_in_the_table(rows: int, exponent: float, seed: int) -> None:
    ids = sample_ids(np.random.default_rng(seed), rows, exponent, 100)
    assert ids.min() >= 0
    assert ids.max() < rows


def test_frequent_ids_are_not_side_by_side() -> None:
    ids = sample_ids(np.random.default_rng(0), 1000, 1.5, 10_000)
    hottest = np.sort(np.argsort(np.bincount(ids, minlength=1000))[-5:])
    assert np.diff(hottest).min() > 10


def test_scattering_keeps_every_id_apart() -> None:
    ids = sample_ids(np.random.default_rng(0), 30, 0.0, 5000)
    assert set(ids.tolist()) == set(range(30))


@pytest.mark.parametrize("rows", [1, 100, 20_000])
@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.0, 2.0])
def test_distinct_ids_equal_the_exact_sum(rows: int, exponent: float) -> None:
    weights = np.arange(1.0, rows + 1) ** -exponent
    exact = np.sum(1 - (1 - weights / weights.sum()) ** 5000)
    assert expected_distinct(rows, exponent, 5000) == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5])
def test_the_fit_finds_the_exponent(exponent: float) -> None:
    ranks = sample_ranks(np.random.default_rng(1), 200, exponent, 200_000)
    assert fit_exponent(np.bincount(ranks)) == pytest.approx(exponent, abs=0.051)


def test_a_single_id_has_no_skew() -> None:
    assert fit_exponent(np.array([0, 7])) == 0.0


@pytest.mark.parametrize(("rows", "exponent"), [(0, 1.0), (5, -0.1), (5, float("nan")), (5, float("inf"))])
def test_bad_parameters_are_named(rows: int, exponent: float) -> None:
    with pytest.raises(InputError, match=r"zipf: (rows|exponent) must be"):
        sample_ranks(np.random.default_rng(0), rows, exponent, 1)
