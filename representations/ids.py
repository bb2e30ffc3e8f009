"""The check of ids where data enters: training and serving call it once, the forward pass never does."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from representations.specs import Feature

__all__ = ["check_ids"]


def check_ids(ids_NS: NDArray[np.int64], features: Sequence[Feature], *, first_row: int = 0) -> None:
    """Raise an `InputError` naming feature, row and value unless every id lies in [0, cardinality) of its feature.

    `ids_NS` holds one row per sample and one column per feature; `first_row` is added to the row that is named.
    """
    if ids_NS.ndim != 2 or ids_NS.shape[1] != len(features):
        raise InputError(f"ids: must be of shape [N, {len(features)}], but got {list(ids_NS.shape)}")
    if ids_NS.dtype.kind not in "iu":
        raise InputError(f"ids: must be integers, but got {ids_NS.dtype}")
    if not len(ids_NS):
        return
    limits = np.array([feature.cardinality for feature in features])
    if ((ids_NS.min(axis=0) >= 0) & (ids_NS.max(axis=0) < limits)).all():
        return
    row, column = (int(i) for i in np.argwhere((ids_NS < 0) | (ids_NS >= limits))[0])
    feature = features[column]
    raise InputError(
        f"feature {feature.name!r}, row {first_row + row}: id must be in [0, {feature.cardinality}), "
        f"but got {ids_NS[row, column]}"
    )
