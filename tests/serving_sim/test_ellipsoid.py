import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving_sim.ellipsoid import Cut, minimise_on_unit_box


@given(goal=st.lists(st.floats(0.05, 0.95), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_finds_the_corner_of_a_function_with_kinks(goal: list[float]) -> None:
    def cut_at(point: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Cut:
        return Cut(gradient_D=np.sign(point - goal), value=1 + float(np.abs(point - goal).sum()))

    _, value = minimise_on_unit_box(cut_at, len(goal))
    assert value == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("dimensions", [1, 3])
def test_stays_in_the_box_and_keeps_to_what_is_allowed(dimensions: int) -> None:
    def cut_at(point: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Cut:
        assert np.all((point >= 0) & (point <= 1))
        if point.sum() > 0.9:
            return Cut(gradient_D=np.ones(dimensions), value=None)
        return Cut(gradient_D=-np.ones(dimensions), value=1 - float(point.sum()))

    point, value = minimise_on_unit_box(cut_at, dimensions)
    assert value == pytest.approx(0.1, abs=1e-3)
    assert point.sum() <= 0.9


def test_a_flat_function_ends_at_once() -> None:
    _, value = minimise_on_unit_box(lambda point: Cut(gradient_D=np.zeros_like(point), value=2.0), 2)
    assert value == 2.0
