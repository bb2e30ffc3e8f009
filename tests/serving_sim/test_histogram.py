import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving_sim.engine import SimulationOptions, simulate
from serving_sim.histogram import RELATIVE_ERROR, bin_edges_ms, exact_percentiles, histogram_percentiles, rank
from serving_sim.kernels import BINS, pick_bins
from serving_sim.testing import small_plan

PERCENTILES = (0.1, 50.0, 95.0, 99.0, 99.9)


@given(values=st.lists(st.floats(1e-5, 1e9), min_size=1, max_size=300))
@settings(deadline=None)
def test_histogram_percentiles_are_within_the_stated_error_of_the_exact_ones(values: list[float]) -> None:
    array = np.array(values)
    counts = np.histogram(array, bin_edges_ms())[0]
    exact, binned = exact_percentiles(array, counts, PERCENTILES), histogram_percentiles(counts, PERCENTILES)
    assert binned == pytest.approx(exact, rel=RELATIVE_ERROR)
    assert exact == tuple(np.sort(array)[[rank(percentile, len(array)) for percentile in PERCENTILES]])


def test_python_picks_what_is_compiled() -> None:
    values, is_wanted, picked = np.geomspace(1e-9, 1e15, 97), np.zeros(BINS, dtype=np.bool_), np.zeros((2, 97))
    is_wanted[[0, 3000, 3001, BINS - 1]] = True
    pick_bins(values, is_wanted, picked[0])
    pick_bins.py_func(values, is_wanted, picked[1])
    assert picked[0, 0] == values[0]
    assert np.array_equal(picked[0], picked[1])


def test_the_stated_error_is_below_half_a_percent() -> None:
    assert RELATIVE_ERROR < 0.005
    assert np.all(np.diff(np.log(bin_edges_ms())) <= 2 * RELATIVE_ERROR)


def test_the_kernel_fills_the_bins_that_the_edges_say() -> None:
    result = simulate(small_plan())
    exact = simulate(small_plan(), options=SimulationOptions(exact_queries=0)).latency_ms
    assert list(exact.values()) == pytest.approx(list(result.latency_ms.values()), rel=RELATIVE_ERROR)
    assert result.latency_histogram.counts.sum() == result.counted
    assert len(result.latency_histogram.edges_ms) == len(result.latency_histogram.counts) + 1 <= BINS + 1


def test_percentiles_are_nearest_rank() -> None:
    assert [rank(percentile, 1000) for percentile in (0.1, 50, 99, 99.9)] == [0, 499, 989, 998]
    assert rank(1, 3) == 0
