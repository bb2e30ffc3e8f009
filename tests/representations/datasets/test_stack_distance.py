import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import InputError
from representations.datasets.access_log import load_access_log
from representations.datasets.stack_distance import (
    FIRST_ACCESS,
    StackProfile,
    stack_distances,
    stack_profile,
    trace_like,
)
from tests.representations.least_recently_used import lru_hits

LOGS = st.lists(st.integers(0, 12), min_size=1, max_size=80).map(np.array)


def test_distance_counts_the_distinct_ids_in_between() -> None:
    assert stack_distances(np.array([7, 8, 8, 9, 7])).tolist() == [FIRST_ACCESS, FIRST_ACCESS, 0, FIRST_ACCESS, 2]


@given(log=LOGS, entries=st.integers(1, 14))
def test_hit_rate_is_that_of_an_lru_cache(log: np.ndarray, entries: int) -> None:
    assert stack_profile(log).hit_rate(entries) == lru_hits(log.tolist(), entries) / len(log)


@given(log=LOGS, seed=st.integers(0, 5))
def test_generated_log_of_equal_length_has_the_same_profile(log: np.ndarray, seed: int) -> None:
    profile = stack_profile(log)
    generated = stack_profile(trace_like(profile, len(log), np.random.default_rng(seed)))
    assert generated.accesses == profile.accesses
    assert generated.first_accesses >= profile.first_accesses
    assert all(abs(generated.hit_rate(c) - profile.hit_rate(c)) <= 2 / len(log) for c in (1, 3, 13))


@given(log=LOGS, count=st.integers(1, 200))
def test_ids_of_a_generated_log_are_numbered_by_first_access(log: np.ndarray, count: int) -> None:
    generated = trace_like(stack_profile(log), count, np.random.default_rng(0))
    _, first = np.unique(generated, return_index=True)
    assert len(generated) == count
    assert (np.diff(first) > 0).all()
    assert generated.max() == len(first) - 1


def test_generated_log_has_the_lru_hit_rates_of_the_bundled_one() -> None:
    profile = stack_profile(load_access_log("scarab"))
    published = {256: 0.182, 2048: 0.327, 16_384: 0.546, 65_536: 0.722}
    generated = stack_profile(trace_like(profile, 400_000, np.random.default_rng(1)))
    for entries, hit_rate in published.items():
        assert profile.hit_rate(entries) == pytest.approx(hit_rate, abs=5e-4)
        assert generated.hit_rate(entries) == pytest.approx(hit_rate, abs=0.01)


def test_equal_seeds_give_equal_logs() -> None:
    profile = StackProfile(distances_D=np.array([0, 5]), counts_D=np.array([10, 20]), first_accesses=9)
    first, second = (trace_like(profile, 50, np.random.default_rng(3)) for _ in range(2))
    assert (first == second).all()


def test_profile_of_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match="empty"):
        stack_profile(np.array([], dtype=np.int64))
    with pytest.raises(InputError, match="first_accesses"):
        StackProfile(distances_D=np.array([0]), counts_D=np.array([1]), first_accesses=0)
    with pytest.raises(InputError, match="accesses"):
        trace_like(stack_profile(np.array([1])), 0, np.random.default_rng(0))


def test_an_empty_log_has_no_distances_and_labels_are_no_ids() -> None:
    assert stack_distances(np.array([])).tolist() == []
    with pytest.raises(InputError, match="must be one list of integers, but got float64"):
        stack_distances(np.array([0.5]))
