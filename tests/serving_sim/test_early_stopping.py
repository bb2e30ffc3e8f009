import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import InputError
from serving_sim.early_stopping import least_within, most_late, nominal_queries, passes


@pytest.mark.parametrize(("percentile", "queries"), [(90, 24_576), (95, 57_344), (97, 90_112), (99, 270_336)])
def test_nominal_counts_are_those_that_mlperf_publishes(percentile: float, queries: int) -> None:
    assert nominal_queries(percentile) == queries


# The first is what loadgen's own search starts from: the least h with p^h <= 1 - c.
@pytest.mark.parametrize(("late", "percentile", "total"), [(0, 99, 459), (1, 99, 662), (0, 90, 44), (1, 90, 64)])
def test_least_counts_are_those_of_loadgen(late: int, percentile: float, total: int) -> None:
    assert least_within(late, percentile) + late == total


def test_a_run_of_the_nominal_length_may_be_late_a_little_less_often_than_the_percentile_allows() -> None:
    late = most_late(270_336, 99)
    assert late < 2703
    # Of 2,703 events 2.33 standard deviations are 121.
    assert late == pytest.approx(2703 - 2.326 * (270_336 * 0.01 * 0.99) ** 0.5, abs=3)


@given(queries=st.integers(1, 5000), percentile=st.sampled_from([50.0, 90.0, 99.0]))
def test_the_most_late_is_the_last_that_passes(queries: int, percentile: float) -> None:
    late = most_late(queries, percentile)
    assert late < 0 or passes(queries - late, late, percentile)
    assert not passes(queries - late - 1, late + 1, percentile)


@given(late=st.integers(0, 40))
def test_more_late_queries_need_more_that_are_not(late: int) -> None:
    assert least_within(late + 1, 99) > least_within(late, 99)


def test_a_tolerance_lets_a_shorter_run_pass() -> None:
    assert least_within(5, 99, tolerance=0.01) < least_within(5, 99)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("percentile", {"percentile": 100}),
        ("confidence", {"percentile": 99, "confidence": 1.0}),
        ("tolerance", {"percentile": 99, "tolerance": 0.995}),
    ],
)
def test_settings_are_checked(name: str, arguments: dict[str, float]) -> None:
    with pytest.raises(InputError, match=name):
        passes(10, 0, **arguments)
