import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.search.expected_improvement import expected_hypervolume_improvement, expected_improvement
from planner.search.hypervolume import hypervolume
from profiles.errors import InputError

UNIT = st.floats(min_value=0.0, max_value=1.2, allow_nan=False)


def points(columns: int, most: int) -> st.SearchStrategy[list[list[float]]]:
    return st.lists(st.lists(UNIT, min_size=columns, max_size=columns), min_size=0, max_size=most)


@settings(max_examples=60, deadline=None)
@given(columns=st.integers(1, 4), data=st.data())
def test_a_certain_candidate_gains_what_the_hypervolume_grows_by(columns: int, data: st.DataObject) -> None:
    front = np.array(data.draw(points(columns, 5))).reshape(-1, columns)
    new = np.array(data.draw(st.lists(UNIT, min_size=columns, max_size=columns)))
    gained = expected_hypervolume_improvement(
        new[:1], np.zeros(1), new[None, 1:], front[:, 0], front[:, 1:], np.ones(columns)
    )
    grown = hypervolume(np.vstack((front, new)), np.ones(columns)) - hypervolume(front, np.ones(columns))
    assert gained[0] == pytest.approx(grown, abs=1e-12)


def test_an_uncertain_candidate_gains_the_mean_of_what_it_may_gain() -> None:
    front = np.array([[0.5, 0.2, 0.6], [0.3, 0.7, 0.3], [0.8, 0.1, 0.1]])
    known = np.array([[0.15, 0.35]])
    gained = expected_hypervolume_improvement(
        np.array([0.4]), np.array([0.2]), known, front[:, 0], front[:, 1:], np.ones(3)
    )
    draws = np.random.default_rng(0).normal(0.4, 0.2, 4000)
    before = hypervolume(front, np.ones(3))
    gains = [hypervolume(np.vstack((front, [draw, *known[0]])), np.ones(3)) - before for draw in draws]
    assert gained[0] == pytest.approx(np.mean(gains), abs=4 * np.std(gains) / np.sqrt(len(gains)))


def test_expected_improvement_is_the_published_formula() -> None:
    got = expected_improvement(np.array([0.0, 1.0]), np.array([0.0, 3.0]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(got, [[0.3989422804, 1.0833154706], [0.0, 0.0]], atol=1e-9)


def test_many_candidates_at_once_gain_what_each_gains_alone() -> None:
    rng = np.random.default_rng(1)
    front, known = rng.random((40, 3)), rng.random((3000, 2))
    mean, std = rng.random(3000), 0.1 * rng.random(3000)
    together = expected_hypervolume_improvement(mean, std, known, front[:, 0], front[:, 1:], np.ones(3))
    alone = [
        expected_hypervolume_improvement(mean[[n]], std[[n]], known[[n]], front[:, 0], front[:, 1:], np.ones(3))[0]
        for n in (0, 1700, 2999)
    ]
    np.testing.assert_allclose(together[[0, 1700, 2999]], alone, rtol=1e-9)


def test_a_front_of_other_costs_is_refused() -> None:
    with pytest.raises(InputError, match="1 known costs"):
        expected_hypervolume_improvement(
            np.zeros(1), np.ones(1), np.zeros((1, 1)), np.zeros(2), np.zeros((2, 2)), np.ones(2)
        )
