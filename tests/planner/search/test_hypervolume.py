import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.search import hypervolume
from planner.search.hypervolume import normalised_hypervolume, reference_point
from profiles.errors import InputError

SIDE = 4
grids = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, SIDE + 1), min_size=width, max_size=width), min_size=1, max_size=8)
)


@given(grids)
def test_the_volume_is_the_number_of_grid_cells_that_some_point_dominates(points: list[list[int]]) -> None:
    width = len(points[0])
    cells = product(range(SIDE), repeat=width)
    covered = sum(any(all(p <= c for p, c in zip(point, cell, strict=True)) for point in points) for cell in cells)
    assert hypervolume(np.array(points), np.full(width, SIDE)) == covered


def test_a_staircase_in_two_dimensions() -> None:
    assert hypervolume(np.array([[1.0, 3.0], [2.0, 1.0]]), np.array([4.0, 4.0])) == 3 + 6 - 2


def test_a_dominated_point_and_one_beyond_the_reference_add_nothing() -> None:
    reference = np.array([4.0, 4.0, 4.0])
    front = [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    more = [*front, [3.0, 3.0, 3.0], [0.0, 0.0, 4.0]]
    assert hypervolume(np.array(more), reference) == hypervolume(np.array(front), reference)


def test_no_points_cover_nothing() -> None:
    assert hypervolume(np.empty((0, 2)), np.ones(2)) == 0


def test_points_and_reference_must_fit() -> None:
    with pytest.raises(InputError, match="do not fit"):
        hypervolume(np.ones((3, 2)), np.ones(3))


def test_the_reference_is_the_limit_or_a_tenth_beyond_the_dearest() -> None:
    objectives = ("auc", "log_loss", "latency_ms", "parameter_bytes")
    reference = reference_point(objectives, {"latency_ms": 2.0}, {"latency_ms": 9.0, "parameter_bytes": 100.0})
    assert reference == pytest.approx(
        {"auc": 0.5, "log_loss": math.log(2), "latency_ms": 2.0, "parameter_bytes": 110.0}
    )


def test_the_normalised_volume_is_the_share_of_the_box_up_to_perfection() -> None:
    reference = {"auc": 0.5, "latency_ms": 2.0}
    assert normalised_hypervolume([{"auc": 0.75, "latency_ms": 1.0}], reference) == pytest.approx(0.25)
    assert normalised_hypervolume([{"auc": 1.0, "latency_ms": 0.0}], reference) == pytest.approx(1.0)
    assert normalised_hypervolume([], reference) == 0
    assert normalised_hypervolume([{"flops": 0.0}], {"flops": 0.0}) == 0
