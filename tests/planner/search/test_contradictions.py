import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner.search.contradictions import contradiction, nothing_fits
from planner.search.objective import is_broken

COSTS = {"latency_ms": np.array([1.0, 3.0]), "parameter_bytes": np.array([9e6, 1e6]), "flops": np.array([10.0, 10.0])}
NAMES = ("capacity_qps", "flops", "latency_ms")


def test_limits_that_hold_together_do_not_contradict() -> None:
    assert contradiction(COSTS, {"latency_ms": 2, "flops": 11}) == ()


def test_only_the_limits_that_contradict_each_other_are_named() -> None:
    assert contradiction(COSTS, {"flops": 11, "latency_ms": 2, "parameter_bytes": 2e6}) == (
        "latency_ms",
        "parameter_bytes",
    )


def test_a_limit_that_nothing_meets_is_named_alone() -> None:
    assert contradiction(COSTS, {"latency_ms": 2, "flops": 5}) == ("flops",)


def test_the_complaint_tells_the_nearest_candidate_and_its_miss() -> None:
    text = nothing_fits(COSTS, {"latency_ms": 2, "parameter_bytes": 2e6}, "none of 2", lambda place: f"number {place}")
    assert "latency_ms <= 2 and parameter_bytes <= 2,000,000 contradict each other" in text
    assert "nearest is number 1: latency_ms 3 is 50 % above 2" in text
    assert "least: latency_ms 1, parameter_bytes 1,000,000" in text


def test_every_limit_that_nothing_meets_is_named() -> None:
    text = nothing_fits(COSTS, {"latency_ms": 0.5, "flops": 5, "parameter_bytes": 2e6}, "none", str)
    assert "none has latency_ms <= 0.5, none has flops <= 5; nearest is" in text


def test_too_little_capacity_is_below_its_limit() -> None:
    text = nothing_fits({"capacity_qps": np.array([50.0, 80.0])}, {"capacity_qps": 100}, "none", str)
    assert (
        "none has capacity_qps >= 100; nearest is 1: capacity_qps 80 is 20 % below 100 (most: capacity_qps 80)" in text
    )


@given(
    st.lists(st.tuples(*[st.integers(1, 6)] * 3), min_size=1, max_size=8),
    st.tuples(*[st.integers(1, 6)] * 3),
)
def test_what_contradicts_is_broken_by_all_and_no_less_of_it_is(
    rows: list[tuple[int, ...]], bounds: tuple[int, ...]
) -> None:
    costs = {name: np.array([row[i] for row in rows], dtype=np.float64) for i, name in enumerate(NAMES)}
    limits = dict(zip(NAMES, map(float, bounds), strict=True))

    def all_break(names: tuple[str, ...]) -> bool:
        return all(any(is_broken(n, costs[n][i], limits[n]) for n in names) for i in range(len(rows)))

    found = contradiction(costs, limits)
    assert bool(found) == all_break(NAMES)
    if found:
        assert all_break(found)
        assert not any(all_break(tuple(n for n in found if n != left_out)) for left_out in found)


def test_nothing_contradicts_without_limits() -> None:
    assert contradiction({}, {}) == ()
