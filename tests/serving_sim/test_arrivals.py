import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from serving_sim.arrivals import weibull_shape
from serving_sim.plan import Arrivals, Diurnal, Spike, Workload
from serving_sim.workload import WorkloadStream, empty_chunk

QPS = 1000.0


def times_s(count: int, arrivals: Arrivals, *, qps: float = QPS, seed: int = 0, chunk: int = 0) -> NDArray[np.float64]:
    """Arrival times of the first queries."""
    stream = WorkloadStream(Workload(qps=qps, sla_ms=1, arrivals=arrivals), (), seed)
    room, gaps = empty_chunk(count, 0), []
    for start in range(0, count, chunk or count):
        step = min(chunk or count, count - start)
        stream.fill(room, step)
        gaps.append(room.gap_N[:step].copy())
    return np.cumsum(np.concatenate(gaps)) / qps


@pytest.mark.parametrize(
    ("process", "cv"), [("poisson", 1.0), ("gamma", 0.5), ("gamma", 2.0), ("weibull", 0.5), ("weibull", 2.5)]
)
def test_gaps_have_the_asked_variation(process: Any, cv: float) -> None:
    gaps = np.diff(times_s(400_000, Arrivals(process=process, cv=cv)), prepend=0.0)
    assert gaps.mean() * QPS == pytest.approx(1.0, rel=0.02)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(cv**2, rel=0.04)


def test_poisson_gaps_are_exponential() -> None:
    gaps = np.sort(np.diff(times_s(100_000, Arrivals()), prepend=0.0)) * QPS
    distance = np.abs(-np.expm1(-gaps) - (np.arange(len(gaps)) + 0.5) / len(gaps)).max()
    # The 1 % critical value of Kolmogorov and Smirnov.
    assert distance < 1.63 / math.sqrt(len(gaps))


@given(cv=st.floats(0.01, 20))
@settings(max_examples=50, deadline=None)
def test_the_weibull_shape_has_the_asked_variation(cv: float) -> None:
    shape = weibull_shape(cv)
    assert math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1 == pytest.approx(cv**2, rel=1e-6)


def test_bursts_disperse_counts_as_the_chain_says() -> None:
    burst = Arrivals(process="mmpp", burst_factor=5.0, burst_share=0.1, mean_burst_s=0.5)
    arrived = times_s(4_000_000, burst)
    assert len(arrived) / arrived[-1] == pytest.approx(QPS, rel=0.05)
    # The index of dispersion of counts in windows far longer than a burst: 1 + 2 var(rate) x correlation time / mean.
    calm = 1 / 1.4
    variance = 0.1 * 0.9 * (4 * calm) ** 2 * QPS**2
    relaxation_s = 1 / (1 / 0.5 + 1 / 4.5)
    counts, _ = np.histogram(arrived, np.arange(0, arrived[-1], 20.0))
    assert counts.var() / counts.mean() == pytest.approx(1 + 2 * variance * relaxation_s / QPS, rel=0.35)


def test_the_rate_follows_the_day_and_a_whole_period_has_the_mean() -> None:
    arrived = times_s(400_000, Arrivals(diurnal=Diurnal(amplitude=0.8, period_s=40.0)))
    whole = arrived[arrived < 360.0]
    assert len(whole) / 360.0 == pytest.approx(QPS, rel=0.01)
    counts, edges = np.histogram(whole % 40.0, 20, (0, 40))
    middle = (edges[1:] + edges[:-1]) / 2
    assert counts / counts.mean() == pytest.approx(1 + 0.8 * np.sin(2 * np.pi * middle / 40), abs=0.03)


def test_the_time_change_of_even_gaps_is_exact() -> None:
    arrivals = Arrivals(process="gamma", cv=1e-3, diurnal=Diurnal(amplitude=0.99, period_s=10.0))
    arrived = times_s(50_000, arrivals)
    work = arrived + 0.99 * 10 / (2 * np.pi) * (1 - np.cos(2 * np.pi * arrived / 10))
    even = times_s(50_000, Arrivals(process="gamma", cv=1e-3))
    assert work == pytest.approx(even, rel=1e-9)


def test_a_spike_multiplies_the_rate_while_it_lasts() -> None:
    arrivals = Arrivals(spikes=(Spike(start_s=10, duration_s=5, factor=4.0), Spike(start_s=12, duration_s=1, factor=2)))
    counts, _ = np.histogram(times_s(80_000, arrivals), [0, 10, 12, 13, 15, 30])
    assert counts / np.diff([0, 10, 12, 13, 15, 30]) / QPS == pytest.approx([1, 4, 8, 4, 1], rel=0.05)


def test_profiles_keep_their_seconds_at_any_rate_and_their_draws() -> None:
    spike = Arrivals(spikes=(Spike(start_s=1, duration_s=1, factor=3),))
    for qps in (500.0, 4000.0):
        arrived = times_s(20_000, spike, qps=qps)
        assert np.sum((arrived > 1) & (arrived < 2)) / qps == pytest.approx(3, rel=0.05)
    steady = times_s(1000, Arrivals())
    early = times_s(1000, Arrivals(spikes=(Spike(start_s=99, duration_s=1, factor=3),)))
    assert early == pytest.approx(steady, rel=1e-12)


@pytest.mark.parametrize(
    "arrivals",
    [
        Arrivals(process="mmpp", mean_burst_s=0.01),
        Arrivals(process="weibull", cv=3, diurnal=Diurnal(amplitude=0.9, period_s=0.3)),
        Arrivals(
            process="mmpp",
            diurnal=Diurnal(amplitude=0.5, period_s=1),
            spikes=(Spike(start_s=1, duration_s=1, factor=2),),
        ),
    ],
)
def test_chunks_of_any_size_give_the_same_times(arrivals: Arrivals) -> None:
    whole = times_s(5000, arrivals, seed=3)
    assert np.array_equal(whole, times_s(5000, arrivals, seed=3, chunk=7))
    assert np.all(np.diff(whole) >= 0)


def test_a_trace_takes_a_profile_too(tmp_path: Path) -> None:
    file = tmp_path / "even.txt"
    file.write_text("\n".join(str(i) for i in range(100)))
    arrived = times_s(
        3000, Arrivals(process="trace", source=str(file), spikes=(Spike(start_s=1, duration_s=9, factor=2),))
    )
    assert np.diff(arrived)[[10, 2000]] * QPS == pytest.approx([1.0, 0.5])
