from typing import Any

import numpy as np
import pytest

from profiles.errors import InputError
from representations.datasets import Dataset, zipf_exponents
from representations.datasets.columns import encode_values
from representations.specs import Feature


def dataset(**changes: Any) -> Dataset:
    body: dict[str, Any] = {
        "name": "tiny",
        "dense_NF": np.zeros((3, 1), dtype=np.float32),
        "ids_NS": np.zeros((3, 1), dtype=np.int64),
        "labels_N": np.array([0, 1, 1], dtype=np.float32),
        "features": (Feature(name="f", cardinality=4),),
        "dense_names": ("x",),
    }
    return Dataset(**(body | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dense_NF": np.zeros((3, 2), dtype=np.float32)}, r"dense_NF must be of shape \[3, 1\], but got \[3, 2\]"),
        ({"dense_NF": np.array([[0], [np.nan], [0]])}, "tiny: x, row 1: must be finite, but got nan"),
        ({"ids_NS": np.zeros((2, 1), dtype=np.int64)}, "ids_NS must have 3 rows, but got 2"),
        ({"ids_NS": np.array([[0], [4], [0]])}, r"feature 'f', row 1: id must be in \[0, 4\), but got 4"),
        ({"labels_N": np.array([0, 1, 0.5])}, "tiny: label, row 2: must be 0 or 1, but got 0.5"),
    ],
)
def test_bad_arrays_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataset(**changes)


def test_taking_rows_keeps_the_rest() -> None:
    part = dataset().take(slice(1, 3))
    assert (len(part), part.positive_rate, part.features) == (2, 1.0, dataset().features)
    assert np.isnan(part.take(slice(0, 0)).positive_rate)


def test_one_id_has_no_skew() -> None:
    assert zipf_exponents(dataset()) == {"f": 0.0}


def test_values_are_numbered_by_first_appearance() -> None:
    ids, cardinality = encode_values(np.array([9, -1, 4, 9, 7]))
    assert (ids.tolist(), cardinality) == ([1, 0, 2, 1, 3], 4)
