"""Predicted hit rates beside exact LRU replays: of the bundled log, of its second half, and of Zipf's law."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.distributed.hbm_cache import CachedStream, LoggedReuse, ZipfReuse, cache_hit_rates, lru_hit_rate
from profiles.errors import InputError
from representations.datasets.access_log import load_access_log
from representations.datasets.stack_distance import stack_distances, stack_profile
from representations.zipf import sample_ids

ENTRIES = (256, 1024, 2048, 8192, 16384, 65536, 131072)


@pytest.mark.parametrize("part", ["whole", "second half from the first"])
def test_hit_rates_are_within_two_points_of_a_replay_of_the_scarab_log(part: str) -> None:
    log_N = load_access_log("scarab")
    half = len(log_N) // 2
    distances_N = stack_distances(log_N)
    if part == "whole":
        reuse, judged_N = LoggedReuse.from_log(log_N), distances_N
    else:
        reuse, judged_N = LoggedReuse.from_log(log_N[:half], skip=half // 2), distances_N[half:]
    for entries in ENTRIES[: None if part == "whole" else -2]:
        replayed = float(np.mean((judged_N >= 0) & (judged_N < entries)))
        assert lru_hit_rate(reuse, entries) == pytest.approx(replayed, abs=0.02), entries


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.05])
def test_zipf_s_law_hits_as_its_replay_does(exponent: float) -> None:
    log_N = sample_ids(np.random.default_rng(1), 20_000, exponent, 200_000)
    distances_N = stack_distances(log_N)[100_000:]
    for entries in (100, 1000, 10_000):
        replayed = float(np.mean((distances_N >= 0) & (distances_N < entries)))
        assert lru_hit_rate(ZipfReuse(rows=20_000, exponent=exponent), entries) == pytest.approx(replayed, abs=0.01)


def test_tables_that_share_a_cache_hit_as_a_replay_of_both_does() -> None:
    rng = np.random.default_rng(2)
    hot_N, cold_N = sample_ids(rng, 1000, 1.2, 100_000), sample_ids(rng, 50_000, 0.6, 50_000) + 1000
    mixed_N = np.empty(150_000, dtype=np.int64)
    is_hot_N = np.arange(150_000) % 3 < 2
    mixed_N[is_hot_N], mixed_N[~is_hot_N] = hot_N, cold_N
    distances_N = stack_distances(mixed_N)
    streams = (
        CachedStream(reuse=ZipfReuse(rows=1000, exponent=1.2), row_bytes=8, rate=2),
        CachedStream(reuse=ZipfReuse(rows=50_000, exponent=0.6), row_bytes=8, rate=1),
    )
    rates = cache_hit_rates(streams, 8 * 5000)
    late_N = np.arange(150_000) >= 75_000
    for rate, is_of_N in zip(rates, (is_hot_N, ~is_hot_N), strict=True):
        judged_N = distances_N[is_of_N & late_N]
        assert rate == pytest.approx(np.mean((judged_N >= 0) & (judged_N < 5000)), abs=0.015)


def test_a_part_of_a_table_hits_as_the_whole_does_in_a_cache_as_much_larger() -> None:
    reuse = ZipfReuse(rows=10_000, exponent=1.0)
    part = cache_hit_rates((CachedStream(reuse=reuse, row_bytes=4, share=0.25),), 1000)
    assert part[0] == pytest.approx(lru_hit_rate(reuse, 1000), rel=1e-4)


def test_a_cache_that_holds_all_misses_what_is_new_only() -> None:
    log_N = np.array([1, 2, 1, 2, 3, 1], dtype=np.int64)
    reuse = LoggedReuse.from_log(log_N)
    assert (reuse.times_K.tolist(), reuse.counts_K.tolist(), reuse.first_accesses) == ([2, 3], [2, 1], 3)
    assert lru_hit_rate(reuse, 100) == pytest.approx(0.5)
    assert lru_hit_rate(ZipfReuse(rows=50, exponent=1.0), 50) == pytest.approx(1.0, abs=1e-3)
    assert cache_hit_rates((CachedStream(reuse=reuse, row_bytes=4),), 0) == (0.0,)
    assert stack_profile(log_N).hit_rate(100) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LoggedReuse.from_log(np.array([1.5])), "float64"),
        (lambda: LoggedReuse.from_log(np.array([1, 2]), skip=2), "more than 2 integers"),
        (lambda: lru_hit_rate(ZipfReuse(rows=5, exponent=1.0), 0), "entries must be >= 1, but got 0"),
        (lambda: cache_hit_rates((), -1), "capacity_bytes must be finite and >= 0, but got -1"),
        (lambda: CachedStream(reuse=ZipfReuse(rows=5, exponent=1.0), row_bytes=0), "row_bytes and rate must be > 0"),
    ],
)
def test_what_is_no_cache_is_refused(call: "object", message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 10**9), st.floats(0.0, 2.0), st.floats(0.001, 0.5), st.floats(1.0, 2.0))
def test_a_larger_cache_never_hits_less(rows: int, exponent: float, share: float, growth: float) -> None:
    reuse = ZipfReuse(rows=rows, exponent=exponent)
    entries = max(1, int(rows * share))
    small, large = lru_hit_rate(reuse, entries), lru_hit_rate(reuse, int(entries * growth))
    assert -1e-9 <= small <= large + 1e-3
    assert large <= 1 + 1e-9


def test_a_histogram_of_reuse_times_will_do_without_its_log() -> None:
    times_K, counts_K = np.array([1, 4]), np.array([6, 2])
    reuse = LoggedReuse(times_K=times_K, counts_K=counts_K, first_accesses=2)
    assert reuse.miss_rate(0) == 1.0
    assert reuse.miss_rate(1) == pytest.approx(0.4)
    assert reuse.footprint(3) == pytest.approx(1 + 2 * 0.4)
    with pytest.raises(InputError, match="must count at least one access"):
        LoggedReuse(times_K=times_K[:0], counts_K=counts_K[:0], first_accesses=0)
