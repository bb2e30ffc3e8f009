import math
from statistics import NormalDist
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving_sim.kernels import chance_row
from serving_sim.kernels.chance import chance_in_time

SIGMAS = st.floats(0.01, 1.0)


def chance(
    row_G: np.ndarray[tuple[int], np.dtype[np.float64]], wait_ms: float, service_ms: float, sla_ms: float
) -> float:
    return float(chance_in_time(0, wait_ms + service_ms, service_ms, sla_ms, row_G[np.newaxis]))


@given(sigma=SIGMAS, wait_ms=st.floats(0.0, 20.0), service_ms=st.floats(0.1, 20.0))
def test_a_lognormal_service_is_in_time_as_often_as_its_distribution_says(
    sigma: float, wait_ms: float, service_ms: float
) -> None:
    sla_ms = 10.0
    left = (sla_ms - wait_ms) / service_ms
    expected = NormalDist().cdf((math.log(left) + sigma**2 / 2) / sigma) if left > 0 else 0.0
    assert chance(chance_row("lognormal", sigma), wait_ms, service_ms, sla_ms) == pytest.approx(expected, abs=7e-4)


@given(wait_ms=st.floats(0.0, 20.0), service_ms=st.floats(0.1, 20.0))
def test_so_is_an_exponential_one(wait_ms: float, service_ms: float) -> None:
    expected = max(0.0, -math.expm1(-(10.0 - wait_ms) / service_ms))
    found = chance(chance_row("exponential", 0.0), wait_ms, service_ms, 10.0)
    assert found == pytest.approx(expected, abs=7e-4)


@given(sigma=SIGMAS, sla_ms=st.floats(0.1, 20.0), later_ms=st.floats(0.0, 20.0))
def test_more_time_never_makes_it_less_likely(sigma: float, sla_ms: float, later_ms: float) -> None:
    row_G = chance_row("lognormal", sigma)
    assert 0.0 <= chance(row_G, 1.0, 2.0, sla_ms) <= chance(row_G, 1.0, 2.0, sla_ms + later_ms) <= 1.0


@pytest.mark.parametrize("row_G", [chance_row("none", 0.5), chance_row("lognormal", 0.0)])
def test_without_scatter_it_is_in_time_or_not(row_G: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    assert chance(row_G, 1.0, 2.0, 3.0) == 1.0
    assert chance(row_G, 1.0, 2.0, math.nextafter(3.0, 0.0)) == 0.0


@pytest.mark.parametrize("spread", ["none", "lognormal", "exponential"])
def test_a_path_that_never_ends_is_never_in_time(spread: Literal["none", "lognormal", "exponential"]) -> None:
    assert chance(chance_row(spread, 0.5), 1.0, math.inf, 10.0) == 0.0
    assert chance(chance_row(spread, 0.5), math.inf, 1.0, 10.0) == 0.0
