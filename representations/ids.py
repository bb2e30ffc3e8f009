"""The checks of ids where data enters: data sets and training call them, the forward pass never does."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from representations.specs import Feature

__all__ = ["check_bags", "check_ids"]

Ids = NDArray[np.int64]


def check_ids(ids_NS: Ids, features: Sequence[Feature], *, first_row: int = 0) -> None:
    """Raise an `InputError` naming feature, row and value unless every id lies in [0, cardinality) of its feature.

    `ids_NS` holds one row per sample and one column per feature; `first_row` is added to the row that is named.
    """
    if ids_NS.ndim != 2 or ids_NS.shape[1] != len(features):
        raise InputError(f"ids: must be of shape [N, {len(features)}], but got {list(ids_NS.shape)}")
    _require_integers(ids_NS, "ids")
    if not len(ids_NS):
        return
    limits = np.array([feature.cardinality for feature in features])
    if ((ids_NS.min(axis=0) >= 0) & (ids_NS.max(axis=0) < limits)).all():
        return
    row, column = (int(i) for i in np.argwhere((ids_NS < 0) | (ids_NS >= limits))[0])
    raise _out_of_range(features[column], first_row + row, int(ids_NS[row, column]))


def check_bags(ids_N: Ids, offsets_B: Ids, feature: Feature, *, first_row: int = 0) -> None:
    """The same for the flat ids [N] of bags that begin at offsets [B]; a bag must not be empty.

    Raises:
        InputError: an id out of range or an empty bag, with feature, row and value; offsets that do not begin at 0,
            fall, or end beyond the ids.
    """
    for values, what in ((ids_N, "ids"), (offsets_B, "offsets")):
        _require_integers(values, f"feature {feature.name!r}: {what}")
        if values.ndim != 1:
            raise InputError(f"feature {feature.name!r}: {what} must be one list, but got {list(values.shape)}")
    lengths_B = np.diff(offsets_B, append=len(ids_N))
    if len(offsets_B) and (offsets_B[0] != 0 or (lengths_B < 0).any()):
        raise InputError(f"feature {feature.name!r}: offsets must rise from 0 to at most {len(ids_N)}")
    if not len(offsets_B) and len(ids_N):
        raise InputError(f"feature {feature.name!r}: {len(ids_N)} ids, but no bag")
    is_bad_N = (ids_N < 0) | (ids_N >= feature.cardinality)
    if is_bad_N.any():
        place = int(is_bad_N.argmax())
        row = int(np.searchsorted(offsets_B, place, side="right")) - 1
        raise _out_of_range(feature, first_row + row, int(ids_N[place]))
    if (lengths_B == 0).any():
        row = first_row + int((lengths_B == 0).argmax())
        raise InputError(f"feature {feature.name!r}, row {row}: a bag must hold at least one id, but got []")


def _require_integers(values: Ids, where: str) -> None:
    if values.dtype.kind not in "iu":
        raise InputError(f"{where}: must be integers, but got {values.dtype}")


def _out_of_range(feature: Feature, row: int, value: int) -> InputError:
    return InputError(f"feature {feature.name!r}, row {row}: id must be in [0, {feature.cardinality}), but got {value}")
