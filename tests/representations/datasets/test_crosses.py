import numpy as np
import pytest

from profiles.errors import InputError, UnknownNameError
from representations.datasets import load_dataset


def test_a_cross_has_one_id_per_pair_that_occurs() -> None:
    plain = load_dataset("flights", features=("month", "day"), rows=30_000)
    crossed = load_dataset("flights", features=("month*day", "month"), rows=30_000)
    pairs = np.unique(plain.ids_NS, axis=0)
    assert [feature.name for feature in crossed.features] == ["month*day", "month"]
    assert crossed.features[0].cardinality == len(pairs) + 1
    joined = np.column_stack((crossed.ids_NS[:, 0], plain.ids_NS))
    assert len(np.unique(joined, axis=0)) == len(pairs)


def test_a_cross_is_missing_where_a_part_is() -> None:
    plain = load_dataset("flights", features=("tailnum",), rows=1000)
    crossed = load_dataset("flights", features=("tailnum*hour*day",), rows=1000)
    assert ((crossed.ids_NS[:, 0] == 0) == (plain.ids_NS[:, 0] == 0)).all()


def test_unknown_part_and_repeated_cross_are_errors() -> None:
    with pytest.raises(UnknownNameError, match="unknown name 'week'"):
        load_dataset("flights", features=("month*week",))
    with pytest.raises(InputError, match="distinct"):
        load_dataset("flights", features=("month*day", "month*day"), rows=100)
