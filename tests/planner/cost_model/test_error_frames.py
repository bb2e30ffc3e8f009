import polars as pl
import pytest

from planner.cost_model.error_frames import error_by_batch, error_by_share

POINTS = pl.DataFrame(
    {
        "kind": ["linear", "linear", "model", "model", "model"],
        "batch": [7, 8, 64, 64, 64],
        "measured_ms": [1.0, 1.0, 1.0, 2.0, 3.0],
        "predicted_ms": [1.1, 0.7, 1.0, 2.0, 1.5],
        "low_ms": [0.9, 0.5, 0.5, 1.0, 1.0],
        "high_ms": [1.3, 0.9, 1.5, 3.0, 2.0],
    }
)


def test_batches_are_grouped_by_the_nearest_power_of_two() -> None:
    linear, model = error_by_batch(POINTS).to_dicts()
    assert (linear["kind"], linear["batch"], linear["rows"]) == ("linear", 8, 2)
    assert linear["mape"] == pytest.approx(0.2)
    assert linear["bias"] == pytest.approx(-0.1)
    assert (linear["median"], linear["coverage"]) == (pytest.approx(0.2), 0.5)
    assert linear["kendall_tau"] is None
    assert (model["within_10"], model["coverage"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert model["kendall_tau"] == pytest.approx(1 / 3)


def test_a_kind_carries_its_error_by_its_share_of_whole_models() -> None:
    shares = [("linear", 0.5), ("concat", 0.5), ("linear", 0.7), ("concat", 0.3)]
    linear, concat = error_by_share(POINTS, shares).to_dicts()
    assert linear["carried"] == pytest.approx(0.6 * 0.2)
    assert (concat["kind"], concat["mape"], concat["carried"]) == ("concat", None, None)


def test_without_whole_models_there_are_no_shares() -> None:
    assert error_by_share(POINTS, []).height == 0
