import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.search.front_improvement import expected_front_improvement

SIZES = st.integers(0, 5).map(float)


@settings(max_examples=60, deadline=None)
@given(
    members=st.lists(st.tuples(SIZES, SIZES, SIZES), max_size=5),
    candidates=st.lists(st.tuples(SIZES, SIZES, SIZES), min_size=1, max_size=5),
)
def test_certain_candidates_gain_wherever_they_fit_and_nothing_as_good_is_there(
    members: list[tuple[float, ...]], candidates: list[tuple[float, ...]]
) -> None:
    front, new = np.array(members).reshape(-1, 3), np.array(candidates)
    got = expected_front_improvement(new[:, 0], np.zeros(len(new)), new[:, 1:], front[:, 0], front[:, 1:], worst=9.0)
    for gain, (value, *costs) in zip(got, new, strict=True):
        expected = 0.0
        for budget_value, *budget in new:
            reached = min([9.0, *(one for one, *own in front if (np.array(own) <= budget).all())])
            # A budget counts as its own candidate is better than what is there; half where it is just as good.
            weight = 1.0 if budget_value < reached else 0.5 if budget_value == reached else 0.0
            expected += weight * max(0.0, reached - value) * bool((np.array(costs) <= budget).all())
        assert gain == pytest.approx(expected, abs=1e-9)


def test_a_twin_of_a_member_promises_less_than_what_is_cheaper_and_as_uncertain() -> None:
    known = np.array([[0.5, 0.5], [0.5, 0.4]])
    gain = expected_front_improvement(
        np.array([0.3, 0.3]), np.array([0.01, 0.01]), known, np.array([0.3]), known[:1], worst=1.0
    )
    assert gain[1] > 10 * gain[0] > 0
