from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import InputError, UnknownNameError
from representations.datasets.access_log import load_access_log
from representations.datasets.stack_distance import stack_profile
from representations.mp_cache.policies import CachePolicy, entries_of, hit_rate, hottest_ids
from tests.representations.least_recently_used import lru_hits

LOGS = st.lists(st.integers(-4, 12) | st.sampled_from([-(2**60), 2**60]), min_size=1, max_size=80)
ENTRIES = st.integers(1, 14)


def lfu_hits(log: list[int], entries: int) -> int:
    counts: Counter[int] = Counter()
    last: dict[int, int] = {}
    hits = 0
    for time, item in enumerate(log):
        hits += item in counts
        if item not in counts and len(counts) == entries:
            del counts[min(counts, key=lambda other: (counts[other], last[other]))]
        counts[item] += 1
        last[item] = time
    return hits


@given(log=LOGS, entries=ENTRIES)
def test_lru_hits_what_an_ordered_dictionary_does(log: list[int], entries: int) -> None:
    assert hit_rate(np.array(log), entries, "lru") == pytest.approx(lru_hits(log, entries) / len(log))


@given(log=LOGS, entries=ENTRIES)
def test_lfu_evicts_the_least_frequent_then_the_least_recent(log: list[int], entries: int) -> None:
    assert hit_rate(np.array(log), entries, "lfu") == pytest.approx(lfu_hits(log, entries) / len(log))


@given(log=LOGS, entries=ENTRIES)
def test_static_with_foresight_holds_the_most_frequent(log: list[int], entries: int) -> None:
    kept = sum(count for _, count in Counter(log).most_common(entries))
    assert hit_rate(np.array(log), entries, "static") == pytest.approx(kept / len(log))


@pytest.mark.parametrize(("entries", "rate"), [(256, 0.182), (2048, 0.327), (16384, 0.546), (65536, 0.722)])
def test_lru_on_the_bundled_log_by_simulation_and_by_stack_distance(entries: int, rate: float) -> None:
    log = load_access_log("scarab")
    assert round(hit_rate(log, entries, "lru"), 3) == rate
    if entries == 256:
        assert hit_rate(log, entries, "lru") == pytest.approx(stack_profile(log).hit_rate(entries))


@pytest.mark.parametrize(("policy", "hits"), [("static", 2), ("lru", 3), ("lfu", 3)])
def test_an_earlier_log_chooses_or_warms(policy: CachePolicy, hits: int) -> None:
    earlier = np.array([1, 2, 2, 1, 3])
    assert hottest_ids(earlier, 2).tolist() == [1, 2]
    assert hit_rate(np.array([1, 3, 1, 5]), 2, policy, earlier_N=earlier) == pytest.approx(hits / 4)


def test_bytes_are_of_embeddings_alone() -> None:
    assert (entries_of(2048, 16), entries_of(2**21, 16)) == (32, 32768)
    with pytest.raises(InputError, match="60 bytes hold no embedding of 16 floats"):
        entries_of(60, 16)


def test_bad_questions_are_errors() -> None:
    with pytest.raises(InputError, match="entries must be >= 1"):
        hit_rate(np.array([1]), 0, "lru")
    with pytest.raises(InputError, match="log is empty"):
        hit_rate(np.array([], dtype=np.int64), 1, "lru")
    with pytest.raises(UnknownNameError, match="fifo"):
        hit_rate(np.array([1]), 1, "fifo")  # type: ignore[arg-type]  # what is tested
