import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.report.provenance import GRADES, grade, weakest
from profiles.errors import UnknownNameError


def test_a_sum_of_measured_parts_is_measured() -> None:
    assert grade("aggregated") == "measured"


def test_a_figure_given_by_hand_is_an_estimate() -> None:
    assert grade("given") == "estimated"


def test_an_unknown_provenance_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"guessed.*known: .*measured"):
        grade("guessed")


@given(st.lists(st.sampled_from(GRADES), min_size=1))
def test_the_whole_is_never_stronger_than_any_part(parts: list[str]) -> None:
    assert all(GRADES.index(weakest(parts)) >= GRADES.index(grade(part)) for part in parts)
    assert weakest(parts) in parts
