import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cost_model.features import drivers_of
from planner.cost_model.roofline import PhysicalLimits, Roofline, fit_roofline
from profiles.component import Component
from profiles.errors import InputError
from representations.components import work_of
from tests.planner.cost_model.synthetic import levelled_ms, linears, random_sizes, roofline_ms

LIMITS = PhysicalLimits(flops_per_s=2e12, bytes_per_s=2e12)


def fitted(components: list[Component], factors: np.ndarray | float = 1.0) -> Roofline:
    truth = np.array([roofline_ms(component) for component in components]) * factors
    return fit_roofline(drivers_of(components, work_of), truth, LIMITS)


def test_recovers_a_known_roofline() -> None:
    known, unseen = linears(random_sizes(20, 1)), linears(random_sizes(40, 2), (3, 100, 2000))
    truth = np.array([levelled_ms(component) for component in known])
    roofline = fit_roofline(drivers_of(known, work_of), truth, LIMITS)
    assert roofline.ms_per_unit["overhead"] == pytest.approx(5e-3, rel=0.005)
    assert 1e3 / roofline.ms_per_unit["flop"] == pytest.approx(60e9, rel=0.005)
    expected = np.array([levelled_ms(component) for component in unseen])
    predicted = roofline.predict(drivers_of(unseen, work_of))
    is_tiled = np.array([int(component["out_features"]) >= 12 for component in unseen])
    np.testing.assert_allclose(predicted[is_tiled], expected[is_tiled], rtol=0.01)
    # Few of the known rows have so few outputs, which have constants of their own.
    np.testing.assert_allclose(predicted[~is_tiled], expected[~is_tiled], rtol=0.05)


def test_recovers_one_that_the_priors_do_not_expect() -> None:
    """As slow from the caches as from memory: seven spreads off."""
    components = linears(random_sizes(20, 1))
    roofline = fitted(components)
    truth = np.array([roofline_ms(component) for component in components])
    assert roofline.ms_per_unit["overhead"] == pytest.approx(5e-3, rel=0.05)
    assert 1e3 / roofline.ms_per_unit["flop"] == pytest.approx(60e9, rel=0.01)
    predicted = roofline.predict(drivers_of(components, work_of))
    np.testing.assert_allclose(predicted, truth, rtol=0.04)
    assert np.mean(np.abs(predicted / truth - 1)) < 0.01


def test_a_level_of_memory_that_no_row_reached_costs_what_it_usually_does() -> None:
    small = fitted(linears([(8, 8), (16, 16), (8, 32)], (1, 4, 16)))
    usual = 1e3 / (LIMITS.bytes_per_s / 100)
    assert 0.5 * usual < small.ms_per_unit["memory"] < 2 * usual


def test_padding_to_tiles_is_told_from_work() -> None:
    components = linears([(256, n) for n in (1, 5, 16, 17, 31, 32, 40, 48, 64, 65)], (64, 512))
    padded = np.array([2e-3 + 2.0 * c.batch * 256 * -(-int(c["out_features"]) // 16) * 16 / 50e6 for c in components])
    roofline = fit_roofline(drivers_of(components, work_of), padded, LIMITS)
    np.testing.assert_allclose(roofline.predict(drivers_of(components, work_of)), padded, rtol=0.1)


def test_a_few_wild_rows_do_not_bend_the_roof() -> None:
    components = linears(random_sizes(20, 1))
    factors = np.ones(len(components))
    factors[::17] = 5.0
    unseen = linears(random_sizes(20, 2))
    predicted = fitted(components, factors).predict(drivers_of(unseen, work_of))
    truth = np.array([roofline_ms(component) for component in unseen])
    assert np.mean(np.abs(predicted / truth - 1)) < 0.02


def test_no_rate_exceeds_the_limits() -> None:
    components = linears(random_sizes(6, 1))
    roofline = fit_roofline(drivers_of(components, work_of), np.full(len(components), 1e-9), LIMITS)
    assert roofline.ms_per_unit["flop"] >= 1e3 / LIMITS.flops_per_s
    assert roofline.ms_per_unit["byte"] >= 1e3 / LIMITS.bytes_per_s


@settings(deadline=None, max_examples=40)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 4096), st.integers(1, 4096)), min_size=1, max_size=5),
    seed=st.integers(0, 2**16),
    inputs=st.integers(1, 10_000),
    outputs=st.integers(1, 10_000),
)
def test_is_positive_and_grows_with_the_batch_whatever_it_was_fitted_on(
    sizes: list[tuple[int, int]], seed: int, inputs: int, outputs: int
) -> None:
    components = linears(sizes, (1, 64))
    noise = np.exp(np.random.default_rng(seed).normal(0, 1, len(components)))
    grown = linears([(inputs, outputs)], (1, 2, 10, 1000, 100_000))
    predicted = fitted(components, noise).predict(drivers_of(grown, work_of))
    assert predicted[0] > 0
    assert np.all(np.diff(predicted) >= 0)


def test_refuses_caches_that_do_not_grow() -> None:
    with pytest.raises(InputError, match=r"cache_bytes must be > 0 and grow"):
        PhysicalLimits(flops_per_s=1.0, bytes_per_s=1.0, cache_bytes=(1.0, 1.0, 2.0))


def test_refuses_limits_that_are_not_positive() -> None:
    with pytest.raises(InputError, match=r"bytes_per_s must be > 0, but got 0"):
        PhysicalLimits(flops_per_s=1.0, bytes_per_s=0.0)


def test_no_product_of_few_outputs_is_faster_than_the_device() -> None:
    """Rows that took no time for their arithmetic: the limit holds for every way in which products run."""
    components = linears([(64, outputs) for outputs in (1, 2, 4, 8, 16, 64)], (8, 64, 512, 4096))
    roofline = fit_roofline(drivers_of(components, work_of), np.full(len(components), 1e-3), LIMITS)
    for name in ("flop", "flop/narrow", "flop/vector"):
        assert roofline.ms_per_unit[name] >= 1e3 / LIMITS.flops_per_s
