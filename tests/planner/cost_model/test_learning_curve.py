import pytest

from planner.cost_model.learning_curve import CurvePoint, curve_frame, learning_curve, points_for_error
from planner.cost_model.model import FittedDeviceModel, fit_device_model
from representations.components import work_of
from tests.benchmarks.space_filling import design
from tests.planner.cost_model.imagined_machine import machine_ms
from tests.planner.cost_model.synthetic import profiles_of


@pytest.fixture(scope="module")
def model() -> FittedDeviceModel:
    return fit_device_model(profiles_of(design("embedding", 80), machine_ms, noise=0.03), work_of)


def points(*errors: float, kind: str = "linear", family: str = "linear") -> list[CurvePoint]:
    sizes = (10, 20, 40, 80)
    return [
        CurvePoint(family=family, kind=kind, points=size, order=0, mape=error)
        for size, error in zip(sizes, errors, strict=False)
    ]


def test_more_points_predict_better(model: FittedDeviceModel) -> None:
    curve = learning_curve(model, seed=0, sizes=(8, 30))
    assert sorted({(one.points, one.order) for one in curve}) == [
        (8, 0), (8, 1), (8, 2), (30, 0), (30, 1), (30, 2), (60, 0),
    ]  # fmt: skip
    mean = {size: sum(one.mape for one in curve if one.points == size) for size in (8, 30)}
    assert mean[30] < mean[8]
    assert curve == learning_curve(model, seed=0, sizes=(8, 30))


def test_the_goal_is_interpolated_between_sizes() -> None:
    assert points_for_error(points(0.4, 0.2, 0.05, 0.04)) == {"linear": pytest.approx(28.28, abs=0.01)}


def test_a_goal_met_at_once_needs_the_smallest_size_and_one_never_met_says_so() -> None:
    assert points_for_error(points(0.09, 0.08)) == {"linear": 10}
    assert points_for_error(points(0.4, 0.2)) == {"linear": None}


def test_a_later_rise_above_the_goal_counts() -> None:
    needed = points_for_error(points(0.05, 0.2, 0.05))["linear"]
    assert needed is not None
    assert needed > 20


def test_of_several_families_the_one_that_needs_most_counts() -> None:
    parts = [
        *points(0.05, kind="elementwise", family="elementwise(relu)"),
        *points(0.2, kind="elementwise", family="elementwise(mish)"),
    ]
    assert points_for_error(parts) == {"elementwise": None}
    assert points_for_error(parts[:1]) == {"elementwise": 10}


def test_the_frame_holds_the_points() -> None:
    frame = curve_frame(points(0.4, 0.2))
    assert frame.columns == ["family", "kind", "points", "order", "mape"]
    assert frame["mape"].to_list() == [0.4, 0.2]
