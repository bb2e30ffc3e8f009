import numpy as np
import pytest

from profiles.errors import InputError
from representations.ids import check_ids
from representations.specs import Feature

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
