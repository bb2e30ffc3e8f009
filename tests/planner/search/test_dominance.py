import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from planner.search.dominance import crowding_distances, front_of, non_domination_ranks
from planner.search.pareto import non_dominated

costs = st.tuples(st.integers(0, 40), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 5).map(float))
)


@given(costs)
def test_the_front_is_the_brute_force_one(costs_NM: np.ndarray) -> None:
    assert front_of(costs_NM).tolist() == np.flatnonzero(non_dominated(costs_NM)).tolist()


@given(costs)
def test_every_rank_is_the_front_of_what_the_ranks_before_leave(costs_NM: np.ndarray) -> None:
    ranks = non_domination_ranks(costs_NM)
    for rank in range(int(ranks.max(initial=-1)) + 1):
        left = np.flatnonzero(ranks >= rank)
        assert left[front_of(costs_NM[left])].tolist() == np.flatnonzero(ranks == rank).tolist()


def test_ranking_ends_once_enough_have_a_rank() -> None:
    costs_NM = np.arange(6.0)[:, None]
    assert non_domination_ranks(costs_NM, most=2).tolist() == [0, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("name", ["keep_undominated", "keep_undominated_of_three"])
def test_the_compiled_loops_are_the_plain_ones(name: str) -> None:
    from planner.search import dominance_kernel

    kernel = getattr(dominance_kernel, name)
    costs_NM = np.random.default_rng(0).integers(0, 7, size=(90, 3)).astype(np.float64)
    ordered_NM = costs_NM[np.lexsort(costs_NM.T[::-1])]
    compiled_N, plain_N = np.zeros(90, dtype=np.bool_), np.zeros(90, dtype=np.bool_)
    kernel(ordered_NM, compiled_N)
    kernel.py_func(ordered_NM, plain_N)
    assert np.array_equal(compiled_N, plain_N)
    assert np.array_equal(plain_N, non_dominated(ordered_NM))


def test_a_long_front_is_told_from_what_lies_behind_it() -> None:
    points_NM = np.random.default_rng(3).random((3_000, 3))
    assert front_of(points_NM).tolist() == np.flatnonzero(non_dominated(points_NM)).tolist()


def test_ends_are_crowded_by_nothing_and_others_by_their_neighbours() -> None:
    costs_NM = np.array([[0.0, 3.0], [1.0, 2.0], [3.0, 0.0]])
    assert crowding_distances(costs_NM).tolist() == [np.inf, 2.0, np.inf]
