import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cost_model.pass_counts import code_distances, joined, pass_counts
from planner.cost_model.traffic import kept_share
from profiles.component import make_component
from representations.components import work_of

TABLE = make_component(
    "embedding", 64, {"rows": 100, "dim": 8, "pooling": 1.0, "zipf": 0.0, "backend": "torch", "context_bytes": 0}
)
NARROW, WIDE = (make_component("linear", 64, {"in_features": 8, "out_features": width}) for width in (8, 16_384))
PATHS = ("embeddings.0", "top.0", "top.1")
COMPONENTS = (TABLE, NARROW, WIDE)


def counts_of_all() -> tuple[float, ...]:
    works = [work_of(one) for one in COMPONENTS]
    return tuple(float(column[0]) for column in pass_counts(PATHS, COMPONENTS, works).sum().columns())


def test_a_family_counts_once_and_tables_move_nothing_of_the_others() -> None:
    works = [work_of(one) for one in COMPONENTS]
    counts = pass_counts(PATHS, COMPONENTS, works)
    assert counts.families.tolist() == [1, 1, 0]
    assert counts.traffic_bytes.tolist() == [0, works[1].bytes_moved, works[2].bytes_moved]
    assert (counts.displaced_bytes > 0).tolist() == [True, False, False]


def test_code_is_as_far_as_other_families_ran_since() -> None:
    assert code_distances([]) == []
    assert code_distances("aaa") == [0, 0, 0]
    assert code_distances("abc") == [2, 2, 2]
    # The first of each follows the last one of the round before.
    assert code_distances("eabac") == [3, 2, 3, 1, 3]


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12), st.integers(0, 11))
def test_where_a_round_begins_does_not_matter(families: list[str], place: int) -> None:
    cut = place % len(families)
    turned = code_distances(families[cut:] + families[:cut])
    assert turned == code_distances(families)[cut:] + code_distances(families)[:cut]


def test_an_embedding_is_a_round_of_its_own() -> None:
    paths = ("embeddings.0.a", "embeddings.0.b", "embeddings.1.a", "embeddings.1.b", "top.0")
    components = (TABLE, NARROW, TABLE, NARROW, WIDE)
    counts = pass_counts(paths, components, [work_of(one) for one in components])
    assert counts.code_distance.tolist() == [1, 1, 1, 1, 0]


def test_no_more_is_kept_than_a_cache_holds() -> None:
    _, _, _, _, traffic_bytes, kept_bytes, _ = counts_of_all()
    assert traffic_bytes > 2**21
    assert kept_bytes == pytest.approx(2**21)
    assert kept_share(2.0**20) == 1


def test_passes_are_joined_in_their_order_and_none_have_no_rows() -> None:
    works = [work_of(one) for one in COMPONENTS]
    counts = pass_counts(PATHS, COMPONENTS, works)
    both = joined([counts.take(np.array([2])), counts.take(np.array([0, 1]))])
    np.testing.assert_array_equal(both.traffic_bytes, counts.traffic_bytes[[2, 0, 1]])
    assert [len(column) for column in joined([]).columns()] == [0] * 7
