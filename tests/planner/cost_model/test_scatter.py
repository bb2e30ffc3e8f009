import math

import numpy as np
import pytest

from planner.cost_model.scatter import MOST_SIGMA, mean_over_p25, scatter_of
from profiles.records import Latency


def latency_of(samples_ms: np.ndarray, wall_over_cpu: float | None = None) -> Latency:
    p25, median, p75 = np.percentile(samples_ms, (25, 50, 75)).tolist()
    return Latency(
        p25_ms=p25, median_ms=median, iqr_ms=p75 - p25, n=len(samples_ms), visits=3, wall_over_cpu=wall_over_cpu
    )


def lognormal(sigma: float, *shape: int, median_ms: float = 1.0) -> np.ndarray:
    return np.random.default_rng(0).lognormal(math.log(median_ms), sigma, shape)


def test_single_calls_of_whole_models_give_the_sigma_they_were_drawn_with() -> None:
    scatter = scatter_of([latency_of(lognormal(0.4, 20_000))], [latency_of(lognormal(0.1, 20_000))])
    assert scatter.sigma == pytest.approx(0.4, rel=0.03)
    assert scatter.notes == ("single queries scatter by a sigma of 0.4, from whole models",)


def test_averages_of_short_calls_are_corrected_for_what_they_hide() -> None:
    averaged = lognormal(0.3, 20_000, 25, median_ms=0.002).mean(axis=1)
    assert scatter_of([], [latency_of(averaged)]).sigma == pytest.approx(0.3, rel=0.06)
    assert scatter_of([latency_of(averaged)], [latency_of(lognormal(0.2, 20_000))]).sigma == pytest.approx(
        0.2, rel=0.03
    )


def test_calm_rows_go_before_contended_ones() -> None:
    rows = [latency_of(lognormal(0.8, 5000), 1.5), latency_of(lognormal(0.1, 5000), 1.0)]
    assert scatter_of(rows, []).sigma == pytest.approx(0.1, rel=0.05)
    assert scatter_of(rows[:1], []).sigma == pytest.approx(0.8, rel=0.05)


def test_an_absurd_scatter_is_capped_and_said() -> None:
    scatter = scatter_of([latency_of(lognormal(3.0, 5000))], [])
    assert scatter.sigma == MOST_SIGMA
    assert "taken as 1, measure anew" in scatter.notes[0]


def test_without_a_row_nothing_scatters() -> None:
    assert scatter_of([], []).sigma == 0
    assert mean_over_p25(0.0) == 1


def test_a_quartile_becomes_the_mean_of_its_distribution() -> None:
    samples = lognormal(0.5, 200_000)
    assert mean_over_p25(0.5) == pytest.approx(samples.mean() / np.quantile(samples, 0.25), rel=0.01)
