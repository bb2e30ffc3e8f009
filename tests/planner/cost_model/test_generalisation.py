import numpy as np
import pytest

from planner.cost_model.generalisation import Beyond, beyond_frame, extrapolation, skewed_ids, summary_of
from planner.cost_model.model import FittedDeviceModel, fit_device_model
from representations.components import work_of
from tests.benchmarks.space_filling import design
from tests.planner.cost_model.imagined_machine import machine_ms
from tests.planner.cost_model.synthetic import profiles_of


@pytest.fixture(scope="module")
def model() -> FittedDeviceModel:
    components = [*design("linear", 240), *design("embedding", 240)]
    return fit_device_model(profiles_of(components, machine_ms, noise=0.03), work_of)


@pytest.fixture(scope="module")
def skewed(model: FittedDeviceModel) -> tuple[Beyond, ...]:
    return skewed_ids(model, seed=0)


def test_four_times_beyond_the_rows_predictions_hold_or_are_flagged_and_intervals_cover(
    model: FittedDeviceModel,
) -> None:
    parts = extrapolation(model, seed=0)
    assert {part.family for part in parts} == {"linear", "embedding(torch)"}
    assert {part.left_out for part in parts} == {"over a quarter of the largest work"}
    for part in parts:
        errors = np.abs(part.predicted_ms / part.measured_ms - 1)
        assert errors[~part.flagged].sum() <= 0.1 * (~part.flagged).sum()
    summary = summary_of(parts)
    assert summary["mape"] is not None
    assert summary["mape"] < 0.1
    assert summary["coverage"] is not None
    assert summary["coverage"] >= 0.88
    assert summary["flagged_share"] is not None
    assert summary["flagged_share"] > 0.8


def test_skews_that_no_row_showed_are_predicted_through_the_distinct_rows(skewed: tuple[Beyond, ...]) -> None:
    assert [part.left_out for part in skewed] == ["zipf 0.6", "zipf 0.9", "zipf 1.2"]
    mape = summary_of(skewed)["mape"]
    assert mape is not None
    assert mape < 0.08


def test_the_frame_has_a_row_for_each_prediction(skewed: tuple[Beyond, ...]) -> None:
    frame = beyond_frame(skewed[:1])
    assert frame.columns == [
        "family", "kind", "left_out", "batch", "measured_ms", "predicted_ms", "low_ms", "high_ms", "flagged",
    ]  # fmt: skip
    assert frame["predicted_ms"].to_list() == skewed[0].predicted_ms.tolist()
    assert beyond_frame(()).height == 0


def test_without_rows_nothing_is_said() -> None:
    few = fit_device_model(profiles_of(design("linear", 10), machine_ms), work_of)
    assert extrapolation(few, seed=0) == ()
    assert skewed_ids(few, seed=0) == ()
    assert summary_of(()) == {"rows": 0, "mape": None, "flagged_share": None, "coverage": None}
