import numpy as np
import pytest
from numpy.typing import NDArray

from profiles.errors import InputError
from representations.ids import check_bags, check_ids
from representations.specs import Feature

Ids = NDArray[np.int64]
FEATURES = (Feature(name="user", cardinality=5), Feature(name="item", cardinality=3))


@pytest.mark.parametrize("value", [-1, 3, 2**40])
def test_an_id_out_of_range_names_feature_row_and_value(value: int) -> None:
    ids = np.array([[0, 0], [4, 2], [1, value]])
    with pytest.raises(InputError, match=rf"feature 'item', row 12: id must be in \[0, 3\), but got {value}"):
        check_ids(ids, FEATURES, first_row=10)


def test_ids_in_range_pass() -> None:
    check_ids(np.array([[4, 2], [0, 0]]), FEATURES)
    check_ids(np.empty((0, 2), dtype=np.int64), FEATURES)


def test_wrong_shape_or_type_is_named() -> None:
    with pytest.raises(InputError, match=r"must be of shape \[N, 2\], but got \[1, 3\]"):
        check_ids(np.zeros((1, 3), dtype=np.int64), FEATURES)
    with pytest.raises(InputError, match="must be integers, but got float64"):
        check_ids(np.zeros((1, 2)), FEATURES)  # type: ignore[arg-type]  # what numpy code may pass


def bags(*lists: list[int]) -> tuple[Ids, Ids]:
    lengths = [len(one) for one in lists]
    flat = np.array([x for one in lists for x in one], dtype=np.int64)
    return flat, np.cumsum([0, *lengths[:-1]])


@pytest.mark.parametrize("value", [-1, 3, 2**40])
def test_an_id_out_of_range_in_a_bag_names_feature_row_and_value(value: int) -> None:
    with pytest.raises(InputError, match=rf"feature 'item', row 12: id must be in \[0, 3\), but got {value}"):
        check_bags(*bags([0, 1], [2], [1, value, 0]), FEATURES[1], first_row=10)


@pytest.mark.parametrize("lists", [([0], [], [1]), ([0], [1, 2], []), ([], [0, 2])])
def test_an_empty_bag_names_feature_row_and_value(lists: tuple[list[int], ...]) -> None:
    row = 5 + lists.index([])
    with pytest.raises(InputError, match=rf"feature 'item', row {row}: a bag must hold at least one id, but got \[\]"):
        check_bags(*bags(*lists), FEATURES[1], first_row=5)


@pytest.mark.parametrize("offsets", [[1, 2], [0, 3, 2], [0, 5]])
def test_offsets_that_do_not_cut_the_ids_into_bags_are_named(offsets: list[int]) -> None:
    with pytest.raises(InputError, match="feature 'item': offsets must rise from 0 to at most 4"):
        check_bags(np.zeros(4, dtype=np.int64), np.array(offsets), FEATURES[1])


def test_bags_of_another_form_are_named() -> None:
    with pytest.raises(InputError, match="4 ids, but no bag"):
        check_bags(np.zeros(4, dtype=np.int64), np.array([], dtype=np.int64), FEATURES[1])
    with pytest.raises(InputError, match=r"ids must be one list, but got \[2, 2\]"):
        check_bags(np.zeros((2, 2), dtype=np.int64), np.array([0]), FEATURES[1])
    with pytest.raises(InputError, match="feature 'item': offsets: must be integers, but got float64"):
        check_bags(np.zeros(4, dtype=np.int64), np.array([0.0]), FEATURES[1])
    check_bags(*bags([0, 2], [1]), FEATURES[1])
