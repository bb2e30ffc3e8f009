import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from profiles.interval import interval_share

VISITS = st.lists(st.floats(0.1, 10.0), min_size=2, max_size=60)


def test_one_visit_has_no_interval() -> None:
    assert interval_share([1.0]) is None


def test_equal_visits_have_an_interval_of_no_width() -> None:
    assert interval_share([2.0, 2.0, 2.0]) == 0


def test_times_of_zero_say_nothing() -> None:
    assert interval_share([0.0, 0.0]) == math.inf


@given(VISITS)
def test_the_interval_is_that_of_student(visits_ms: list[float]) -> None:
    count = len(visits_ms)
    half = t.ppf(0.975, count - 1) * statistics.stdev(visits_ms) / math.sqrt(count)
    assert interval_share(visits_ms) == pytest.approx(half / statistics.fmean(visits_ms), rel=1e-3, abs=1e-12)


@given(VISITS, st.floats(0.01, 100.0))
def test_the_interval_does_not_depend_on_the_unit(visits_ms: list[float], factor: float) -> None:
    scaled = interval_share([factor * visit_ms for visit_ms in visits_ms])
    assert scaled == pytest.approx(interval_share(visits_ms), rel=1e-6, abs=1e-9)
