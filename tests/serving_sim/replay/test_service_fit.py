import numpy as np
import pytest
from numpy.typing import NDArray

from serving_sim.replay.service_fit import fit_service

RNG = np.random.default_rng(0)
SIZES = np.exp2(RNG.uniform(0, 8, 2000)).round().astype(np.int64)
SCATTER: NDArray[np.float64] = np.exp(RNG.normal(0, 0.1, 2000))
NEVER_IDLE = np.zeros(2000)


def test_a_table_is_found_through_scatter_and_residuals_have_mean_one() -> None:
    fit = fit_service(SIZES, (0.2 + 0.01 * SIZES) * SCATTER, NEVER_IDLE)
    truth = 0.2 + 0.01 * np.array(fit.sizes)
    assert np.array(fit.mean_ms) == pytest.approx(truth, rel=0.06)
    assert fit.residual_N.mean() == pytest.approx(1.0)
    assert fit.idle_gap is None


def test_a_factor_after_idleness_is_found_with_where_it_begins() -> None:
    idle_ms_N = RNG.uniform(0, 12, 2000)
    service_ms_N = (0.2 + 0.01 * SIZES) * SCATTER * np.where(idle_ms_N > 8, 1.35, 1.0)
    gap = fit_service(SIZES, service_ms_N, idle_ms_N).idle_gap
    assert gap is not None
    assert (gap.after_ms, gap.added_ms) == (8.0, 0.0)
    assert gap.factor == pytest.approx(1.35, rel=0.03)


@pytest.mark.parametrize("count", [150, 2000])
def test_a_time_added_after_idleness_is_found_with_where_it_begins(count: int) -> None:
    idle_ms_N = RNG.uniform(0, 12, count)
    own_ms_N = (0.2 + 0.01 * SIZES[:count]) * SCATTER[:count]
    fit = fit_service(SIZES[:count], own_ms_N + np.where(idle_ms_N > 4, 0.4, 0.0), idle_ms_N)
    assert fit.idle_gap is not None
    assert (fit.idle_gap.after_ms, fit.idle_gap.factor) == (4.0, 1.0)
    assert fit.idle_gap.added_ms == pytest.approx(0.4, rel=0.15)
    assert np.corrcoef(fit.residual_N, SCATTER[:count])[0, 1] > 0.9


def test_idleness_that_costs_nothing_is_not_told_of() -> None:
    service_ms_N = (0.2 + 0.01 * SIZES) * SCATTER
    assert fit_service(SIZES, service_ms_N, np.linspace(0, 12, 2000)).idle_gap is None


def test_a_query_quicker_than_what_is_added_leaves_a_residual_of_a_warm_one() -> None:
    idle_ms_N = np.tile([0.0, 10.0], 1000)
    service_ms_N = SCATTER + 3.0 * (idle_ms_N > 0)
    service_ms_N[1] = 1.0
    fit = fit_service(np.ones(2000, dtype=np.int64), service_ms_N, idle_ms_N)
    assert fit.residual_N[1] == fit.residual_N[idle_ms_N == 0].min() > 0


def test_a_table_never_falls_with_size() -> None:
    fit = fit_service(SIZES, 1.0 / SIZES, NEVER_IDLE)
    assert np.all(np.diff(fit.mean_ms) >= 0)


@pytest.mark.parametrize("size", [1, 7])
def test_one_size_alone_is_a_table_of_one_entry(size: int) -> None:
    fit = fit_service(np.full(60, size), np.full(60, 2.0), np.full(60, np.nan))
    assert fit.sizes == (size,)
    assert fit.mean_ms == pytest.approx((2.0,))


def test_a_size_that_nobody_asked_for_follows_its_neighbours() -> None:
    size_N = np.repeat([1, 256], 100)
    fit = fit_service(size_N, size_N.astype(np.float64), np.zeros(200))
    assert np.array(fit.mean_ms) == pytest.approx(np.array(fit.sizes, dtype=np.float64), rel=0.05)
