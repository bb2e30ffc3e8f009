import numpy as np
import pytest

from planner.distributed import RooflineCosts, TableConstraint
from planner.distributed.preparation import prepare
from planner.distributed.search.assignment import Assignment
from planner.distributed.search.places import find_places
from tests.planner.distributed.small_clusters import small_cluster, table

PIECE_BYTES = 1000 * (16 + 4)


def three_columns(ddr_bytes: int, scheme: str = "column_wise") -> tuple[Assignment, int]:
    """Nothing placed yet on 2 nodes of 3, and the option that cuts a table into 3 in the hosts' memory."""
    cluster = small_cluster(2, 3, ddr_bytes=ddr_bytes)
    asked = [TableConstraint(table="t", schemes=(scheme,), tiers=("ddr",))]  # type: ignore[arg-type]
    problem = prepare([table(dim=12)], cluster, batch_per_rank=8, constraints=asked, costs=RooflineCosts()).problem
    return Assignment(problem), int(np.flatnonzero(problem.options.key_OK[:, 3] == 3)[0])


def test_siblings_go_to_the_lightest_ranks() -> None:
    state, option = three_columns(10 * PIECE_BYTES)
    state.load_P[:] = [5, 1, 2, 3, 4, 0]
    found = find_places(state, 0, option)
    assert found is not None
    assert found.tolist() == [5, 1, 2]


def test_siblings_on_one_host_share_its_memory() -> None:
    state, option = three_columns(2 * PIECE_BYTES)
    state.node_bytes_HT[0, 1] = PIECE_BYTES
    state.load_P[:] = [1, 2, 3, 4, 5, 6]
    found = find_places(state, 0, option)
    assert found is not None
    assert found.tolist() == [0, 3, 4]


@pytest.mark.parametrize("scheme", ["column_wise", "table_column_wise"])
def test_siblings_that_hosts_cannot_hold_find_no_place(scheme: str) -> None:
    state, option = three_columns(3 * PIECE_BYTES, scheme)
    state.node_bytes_HT[:, 1] = 2 * PIECE_BYTES
    assert find_places(state, 0, option) is None


def test_columns_in_a_node_take_the_node_whose_third_rank_is_lightest() -> None:
    state, option = three_columns(10 * PIECE_BYTES, "table_column_wise")
    state.load_P[:] = [0, 0, 9, 1, 2, 3]
    found = find_places(state, 0, option)
    assert found is not None
    assert found.tolist() == [3, 4, 5]
