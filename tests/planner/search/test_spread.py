import numpy as np
import pytest

from planner.search.spread import spread_out


def test_all_are_taken_where_there_are_no_more() -> None:
    assert spread_out(np.zeros((3, 2)), 5).tolist() == [0, 1, 2]


def test_points_are_taken_far_from_each_other_the_least_first() -> None:
    points = np.array([[0.5], [0.0], [1.0], [0.9]])
    assert spread_out(points, 3).tolist() == [1, 2, 0]


def test_points_beside_others_are_taken_far_from_them() -> None:
    points = np.array([[0.0], [0.4], [1.0]])
    assert spread_out(points, 1, np.array([[0.1]])).tolist() == [2]


@pytest.mark.parametrize("worst", [np.inf, 1e300])
def test_no_point_is_taken_twice(worst: float) -> None:
    points = np.array([[0.0, worst], [0.0, worst], [0.0, 1.0], [1.0, worst]])
    assert len(set(spread_out(points, 3).tolist())) == 3
