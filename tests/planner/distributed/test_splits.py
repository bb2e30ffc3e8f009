import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.distributed.splits import column_counts, column_unit, part_spans, row_counts


def test_larger_parts_come_first() -> None:
    assert list(part_spans(10, 4)) == [(0, 3), (3, 6), (6, 8), (8, 10)]
    assert list(part_spans(20, 3, unit=4)) == [(0, 8), (8, 16), (16, 20)]


@given(st.integers(1, 500), st.data())
def test_parts_follow_on_without_gaps(size: int, data: st.DataObject) -> None:
    spans = list(part_spans(size, data.draw(st.integers(1, size))))
    assert [start for start, _ in spans] == [0, *(stop for _, stop in spans[:-1])]
    assert spans[-1][1] == size
    assert {stop - start for start, stop in spans} <= {size // len(spans), size // len(spans) + 1}


@pytest.mark.parametrize(("dim", "unit"), [(128, 4), (12, 4), (10, 1), (7, 1)])
def test_columns_stay_together_in_fours_where_the_dim_has_fours(dim: int, unit: int) -> None:
    assert column_unit(dim) == unit


def test_every_divisor_of_the_dim_is_tried_and_uneven_splits_too() -> None:
    assert {2, 4, 8, 16, 32} <= set(column_counts(128))
    assert column_counts(20) == (2, 3, 5)
    assert column_counts(7) == (2, 3, 4, 7)


def test_a_single_unit_cannot_be_split() -> None:
    assert column_counts(4) == column_counts(1) == ()


def test_rows_are_tried_over_few_ranks_and_over_all() -> None:
    assert row_counts(12) == (2, 3, 4, 6, 8, 12)
    assert row_counts(7) == (2, 3, 4, 6, 7)
    assert row_counts(1) == ()
