from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from serving_sim.plan import QueryClass, Sizes, Workload
from serving_sim.policies import routing_context
from serving_sim.sizes import lognormal_mu, mean_load_size, mean_size
from serving_sim.testing import small_plan
from serving_sim.workload import WorkloadStream, empty_chunk


def drawn_mean(sizes: Sizes, count: int = 400_000) -> float:
    chunk = empty_chunk(count, 0)
    WorkloadStream(Workload(qps=1, sla_ms=1, sizes=sizes), (), 0).fill(chunk, count)
    return float(chunk.size_N.mean())


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0, 3.0])
def test_clipped_lognormal_sizes_have_the_asked_mean(sigma: float) -> None:
    sizes = Sizes(mean=128, sigma=sigma, maximum=4096)
    assert mean_size(sizes) == pytest.approx(128, rel=1e-9)
    assert drawn_mean(sizes) == pytest.approx(128, rel=0.015)


@given(mean=st.floats(0, 1), sigma=st.floats(0.01, 9.9), maximum=st.sampled_from([1, 2, 64, 128, 129, 4096, 2**20]))
@settings(max_examples=100, deadline=None)
def test_any_asked_mean_is_met(mean: float, sigma: float, maximum: int) -> None:
    sizes = Sizes(mean=1 + mean * (maximum - 1), sigma=sigma, maximum=maximum)
    assert mean_size(sizes) == pytest.approx(sizes.mean, rel=1e-6)


@pytest.mark.parametrize("sigma", [0.02, 0.3, 1.5])
def test_the_mean_is_that_of_the_rounded_and_clipped_distribution(sigma: float) -> None:
    sizes = Sizes(mean=300, sigma=sigma, maximum=1000)
    quantiles = (np.arange(2**18) + 0.5) / 2**18
    normal = np.interp(quantiles, *_normal())
    values = np.clip(np.rint(np.exp(lognormal_mu(sizes) + sigma * normal)), 1, 1000)
    assert mean_size(sizes) == pytest.approx(values.mean(), rel=1e-3)


def _normal() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    places = np.linspace(-6, 6, 20_001)
    density = np.exp(-(places**2) / 2)
    return np.cumsum(density) / density.sum(), places


def test_without_spread_the_mean_is_the_rounded_one() -> None:
    fixed, even = Sizes(distribution="fixed", mean=99.6), Sizes(mean=99.6, sigma=0)
    assert mean_size(fixed) == mean_size(even) == drawn_mean(even, 10) == 100


def test_a_trace_has_the_mean_of_its_clipped_sizes(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("size\n10\n20\n30\n")
    assert mean_size(Sizes(distribution="trace", source=str(file), mean=40, maximum=50)) == pytest.approx(110 / 3)


def test_policies_are_told_the_rate_of_samples_that_is_offered() -> None:
    plan = small_plan(qps=1000).at(sizes=Sizes(distribution="fixed", mean=99.6))
    assert routing_context(plan).offered_samples_per_ms == 100


def test_quantiles_are_equally_likely_and_values_as_likely_as_their_weights() -> None:
    even = Sizes(distribution="quantiles", values=(100, 100, 200, 400))
    weighted = Sizes(distribution="empirical", values=(10, 20), weights=(3, 1))
    assert (mean_size(even), mean_size(weighted)) == (200, 12.5)
    assert drawn_mean(even) == pytest.approx(200, rel=0.01)
    assert drawn_mean(weighted) == pytest.approx(12.5, rel=0.01)


def test_classes_come_with_their_share_and_their_own_sizes() -> None:
    large = QueryClass(name="large", share=0.25, sla_ms=50, sizes=Sizes(distribution="fixed", mean=400))
    load = Workload(qps=1, sla_ms=1, classes=(QueryClass(name="rest", share=0.75, sla_ms=5), large))
    assert mean_load_size(load) == pytest.approx(0.75 * 128 + 0.25 * 400)
    chunk = empty_chunk(100_000, 0)
    WorkloadStream(load, (), 0).fill(chunk, 100_000)
    assert chunk.size_N.mean() == pytest.approx(mean_load_size(load), rel=0.01)
    assert np.mean(chunk.class_N == 1) == pytest.approx(0.25, abs=0.01)
    assert set(chunk.size_N[chunk.class_N == 1].tolist()) == {400}


def test_a_class_keeps_its_sizes_when_another_changes() -> None:
    first, other = QueryClass(name="a", share=0.5, sla_ms=5), QueryClass(name="b", share=0.5, sla_ms=5)
    fixed = replace(other, sizes=Sizes(distribution="fixed", mean=3))
    one, two = empty_chunk(200, 0), empty_chunk(200, 0)
    WorkloadStream(Workload(qps=1, sla_ms=1, classes=(first, other)), (), 0).fill(one, 200)
    WorkloadStream(Workload(qps=1, sla_ms=1, classes=(first, fixed)), (), 0).fill(two, 200)
    same = one.size_N == two.size_N
    assert np.all(same | (two.size_N == 3))
    assert 60 < same.sum() < 140
