import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import InputError
from representations.datasets import BagColumn, Dataset, split_dataset
from representations.specs import Feature

FEATURE = Feature(name="tags", cardinality=10, pooling=2.0)


def column_of(bags: list[list[int]]) -> BagColumn:
    lengths = np.array([len(bag) for bag in bags], dtype=np.int64)
    ids = np.array([i for bag in bags for i in bag], dtype=np.int64)
    return BagColumn(feature=FEATURE, ids_L=ids, offsets_N=np.cumsum(lengths) - lengths)


def bags_of(column: BagColumn) -> list[list[int]]:
    return [part.tolist() for part in np.split(column.ids_L, column.offsets_N[1:])] if len(column) else []


def dataset_of(column: BagColumn, rows: int) -> Dataset:
    return Dataset(
        name="bags",
        dense_NF=np.empty((rows, 0), dtype=np.float32),
        ids_NS=np.empty((rows, 0), dtype=np.int64),
        labels_N=(np.arange(rows) % 2).astype(np.float32),
        features=(),
        bags=(column,),
    )


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=9), st.data())
def test_rows_are_taken_with_their_whole_bags(bags: list[list[int]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(bags) - 1), max_size=9))
    assert bags_of(column_of(bags).take(np.array(rows, dtype=np.int64))) == [bags[row] for row in rows]
    assert bags_of(column_of(bags).take(slice(1, 3))) == bags[1:3]


@pytest.mark.parametrize(
    ("bags", "message"),
    [
        ([[1], [10]], r"feature 'tags', row 1: id must be in \[0, 10\), but got 10"),
        ([[1], [2, -1]], r"feature 'tags', row 1: id must be in \[0, 10\), but got -1"),
        ([[1], []], r"feature 'tags', row 1: a bag must hold at least one id, but got \[\]"),
    ],
)
def test_bad_bags_name_feature_row_and_value(bags: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        column_of(bags)


def test_a_data_set_has_as_many_bags_as_rows() -> None:
    with pytest.raises(InputError, match="bags: feature 'tags' must have 3 bags, but got 2"):
        dataset_of(column_of([[1], [2]]), 3)


def test_ids_that_training_rows_lack_become_0_in_all_parts() -> None:
    bags = [[1, 2], *[[1]] * 21, [2], [3, 1]]
    splits = split_dataset(dataset_of(column_of(bags), 24), "temporal", minimum_count=2)
    assert splits.features == (FEATURE,)
    assert bags_of(splits.train.bags[0])[0] == [1, 0]
    assert bags_of(splits.test.bags[0])[-2:] == [[0], [0, 1]]
