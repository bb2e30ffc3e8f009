import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.walk.interval import interval_share

VISITS = st.lists(st.floats(0.1, 10.0), min_size=2, max_size=60)


def test_one_visit_has_no_interval() -> None:
    assert interval_share([1.0]) is None


def test_equal_visits_have_an_interval_of_no_width() -> None:
    assert interval_share([2.0, 2.0, 2.0]) == 0


def test_times_of_zero_say_nothing() -> None:
    assert interval_share([0.0, 0.0]) == math.inf


@pytest.mark.parametrize("count", [3, 5, 8, 24])
@pytest.mark.parametrize("spells", [0.0, 0.15])
def test_the_interval_holds_the_median_as_often_as_it_says(count: int, spells: float) -> None:
    rng = np.random.default_rng(0)
    draws = 100 + rng.standard_normal((3000, count)) + 8 * (rng.random((3000, count)) < spells)
    true = np.median(100 + rng.standard_normal(10**6) + 8 * (rng.random(10**6) < spells))
    halves = np.array([interval_share(list(row)) for row in draws]) * np.median(draws, axis=1)
    covered = np.mean(np.abs(np.median(draws, axis=1) - true) <= halves)
    assert 0.92 < covered < 0.99


def test_slow_spells_do_not_blow_it_up() -> None:
    steady = [1.0, 1.01, 1.02, 1.03] * 5
    assert interval_share([*steady, 9.0]) < 2 * interval_share(steady)  # type: ignore[operator]  # never None here


@given(VISITS, st.floats(0.01, 100.0))
def test_the_interval_does_not_depend_on_the_unit(visits_ms: list[float], factor: float) -> None:
    scaled = interval_share([factor * visit_ms for visit_ms in visits_ms])
    assert scaled == pytest.approx(interval_share(visits_ms), rel=1e-6, abs=1e-9)
