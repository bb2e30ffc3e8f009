from pathlib import Path
from typing import Any

import numpy as np
import pytest

from profiles.errors import InputError
from representations.datasets.stack_distance import stack_profile
from representations.zipf import expected_distinct, sample_ranks
from serving_sim.ids import distinct_rows, hit_rate
from serving_sim.plan import Cache, HitCurve, Ids


def cache(entries: int, **fields: Any) -> Cache:
    return Cache(name="c", capacity_bytes=entries * 64, entry_bytes=64, **fields)


def test_a_curve_says_the_hit_rate_by_entries_of_a_feature() -> None:
    curve = HitCurve(entries=(10, 20), rates=(0.4, 0.5))
    assert [hit_rate(cache(n, hit_rate=curve), Ids()) for n in (0, 5, 15, 99)] == pytest.approx([0, 0.2, 0.45, 0.5])
    assert hit_rate(cache(30, features=2, hit_rate=curve), Ids()) == pytest.approx(0.45)


def test_of_uniform_ids_any_cache_hits_as_much_as_it_holds() -> None:
    ids = Ids(kind="uniform", rows=1000)
    assert [hit_rate(cache(n), ids) for n in (0, 100, 1000, 5000)] == pytest.approx([0, 0.1, 1, 1])
    assert hit_rate(cache(100, policy="lru"), ids) == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("exponent", [0.6, 1.05, 1.5])
def test_zipf_hit_rates_are_those_of_a_replay(exponent: float) -> None:
    ids = Ids(exponent=exponent, rows=5000)
    drawn = sample_ranks(np.random.default_rng(0), 5000, exponent, 400_000)
    assert hit_rate(cache(200), ids) == pytest.approx(np.mean(drawn <= 200), abs=0.003)
    assert hit_rate(cache(200, policy="lru"), ids) == pytest.approx(stack_profile(drawn).hit_rate(200), abs=0.01)


def test_blocks_of_ranks_stand_for_the_ranks_alone() -> None:
    rows, exponent = 300_000, 0.9
    weight = np.arange(1.0, rows + 1) ** -exponent
    for entries in (1000, 70_000, 200_000):
        expected = weight[:entries].sum() / weight.sum()
        assert hit_rate(cache(entries), Ids(exponent=exponent, rows=rows)) == pytest.approx(expected, rel=1e-5)


def test_a_log_gives_its_own_hit_rates(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_text("1\n1\n2\n1\n1\n2\n3\n1")
    ids = Ids(kind="log", source=str(file))
    # Half of the log: 1 is the most frequent; of the other half it has two of four.
    assert hit_rate(cache(1), ids) == 0.5
    assert hit_rate(cache(1, policy="lru"), ids) == 2 / 8
    assert distinct_rows(ids, 4) == 2.5


def test_the_bundled_log_is_known_by_name() -> None:
    ids = Ids(kind="log", source="scarab")
    small, large = (hit_rate(cache(n), ids) for n in (32, 32_768))
    assert 0 < small < large < 1


def test_touched_rows_grow_with_the_lookups_up_to_all_of_them() -> None:
    ids = Ids(exponent=1.05, rows=100_000)
    assert distinct_rows(ids, 10_000) == pytest.approx(expected_distinct(100_000, 1.05, 10_000), rel=0.01)
    assert distinct_rows(Ids(kind="uniform", rows=10), 1e6) == pytest.approx(10)
    with pytest.raises(InputError, match="lookups: must be >= 0"):
        distinct_rows(ids, -1)


def test_a_log_without_accesses_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("1\n")
    with pytest.raises(InputError, match="at least two accesses, but holds 1"):
        hit_rate(cache(1), Ids(kind="log", source=str(tmp_path / "one.txt")))
