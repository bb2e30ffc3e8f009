import pytest

from serving_sim.student import half_width_95, t_95


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (16, 2.120), (17, 2.110), (30, 2.042), (120, 1.980)])
def test_the_quantiles_are_students(freedom: int, t: float) -> None:
    assert t_95(freedom) == pytest.approx(t, abs=6e-4)


def test_an_interval_narrows_with_the_root_of_the_count() -> None:
    assert half_width_95([1.0, 2.0, 3.0]) == pytest.approx(4.303 / 3**0.5)
    assert half_width_95([5.0, 5.0]) == 0
