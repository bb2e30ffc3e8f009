import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from planner.search import non_dominated
from profiles.errors import InputError

# Few distinct values, so that ties and equal points come up.
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 4), min_size=width, max_size=width), min_size=1, max_size=30)
)


def dominates(one: list[int], other: list[int]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and one != other


@given(tables)
def test_the_front_is_what_comparing_all_pairs_gives(costs: list[list[int]]) -> None:
    expected = [not any(dominates(other, point) for other in costs) for point in costs]
    assert non_dominated(np.array(costs)).tolist() == expected


def test_equal_points_are_all_kept() -> None:
    assert non_dominated(np.array([[1, 2], [1, 2], [2, 3]])).tolist() == [True, True, False]


def test_blocks_do_not_show(rng: np.random.Generator) -> None:
    costs = rng.random((700, 3))
    one_by_one = [not (np.all(costs <= point, axis=1) & np.any(costs < point, axis=1)).any() for point in costs]
    assert non_dominated(costs).tolist() == one_by_one


def test_no_points_have_no_front() -> None:
    assert non_dominated(np.empty((0, 3))).tolist() == []


@pytest.mark.parametrize("costs", [np.array([[0.0, np.nan]]), np.array([1.0, 2.0])])
def test_what_cannot_be_compared_is_refused(costs: NDArray[np.float64]) -> None:
    with pytest.raises(InputError, match="costs"):
        non_dominated(costs)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
