import math

import numpy as np
import pytest

from planner.cost_model.scatter import Scatter
from planner.cost_model.scatter_sources import MOST_SIGMA, scatter_of, usual_scatter
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
    assert Scatter().mean_over_label == 1


def test_a_quartile_becomes_the_mean_of_its_distribution() -> None:
    samples = lognormal(0.5, 200_000)
    assert Scatter(sigma=0.5).mean_over_label == pytest.approx(samples.mean() / np.quantile(samples, 0.25), rel=0.01)


def test_models_called_whatever_the_core_say_how_much_slower_than_its_label_the_usual_call_is() -> None:
    quiet, usual = lognormal(0.05, 20_000), lognormal(0.3, 20_000, median_ms=1.6)
    scatter = usual_scatter({"m": latency_of(usual), "other": latency_of(usual)}, {"m": latency_of(quiet)}, {})
    assert scatter is not None
    assert scatter.over_label(0.0) == pytest.approx(1.6 / np.quantile(quiet, 0.25), rel=0.02)
    assert scatter.over_label(2.3263) == pytest.approx(np.quantile(usual, 0.99) / np.quantile(quiet, 0.25), rel=0.05)
    assert scatter.mean_over_label == pytest.approx(usual.mean() / np.quantile(quiet, 0.25), rel=0.02)


def test_the_usual_call_is_never_faster_than_its_label() -> None:
    scatter = usual_scatter({"m": latency_of(lognormal(0.1, 500, median_ms=0.5))}, {"m": latency_of(np.ones(9))}, {})
    assert scatter is not None
    assert scatter.over_label(0.0) == 1
    assert usual_scatter({"m": latency_of(np.ones(9))}, {"n": latency_of(np.ones(9))}, {}) is None


def test_models_called_after_pauses_say_how_much_longer_such_a_call_takes() -> None:
    usual = {name: latency_of(np.full(9, ms)) for name, ms in (("a", 1.0), ("b", 3.0), ("c", 9.0))}
    idled = {name: latency_of(np.full(9, ms)) for name, ms in (("a", 1.5), ("b", 3.4), ("d", 99.0))}
    scatter = usual_scatter(usual, usual, idled)
    assert scatter is not None
    assert scatter.idled_ms == pytest.approx(0.45)
    assert "after 4 ms of idleness a call takes 0.45 ms longer" in scatter.notes[1]
    faster = usual_scatter(usual, usual, {"a": latency_of(np.full(9, 0.5))})
    assert faster is not None
    assert faster.idled_ms == 0
