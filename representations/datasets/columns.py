"""From named columns to ids: which columns are asked for, and vocabularies in order of first appearance."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError, UnknownNameError

__all__ = ["check_row_limit", "check_seed", "encode_values", "refuse_bad_share", "selected"]


def selected(source: str, wanted: Sequence[str] | None, available: Sequence[str]) -> tuple[str, ...]:
    """The wanted names, or all available ones; a name that the data lacks is an error listing what it has."""
    if wanted is None:
        return tuple(available)
    for name in wanted:
        if name not in available:
            raise UnknownNameError(f"{source}: feature", name, available)
    if len(set(wanted)) != len(wanted) or not wanted:
        raise InputError(f"{source}: features must be distinct and at least one, but got {list(wanted)}")
    return tuple(wanted)


def check_row_limit(rows: int | None) -> None:
    """Raise an `InputError` unless `rows` is None or positive."""
    if rows is not None and rows < 1:
        raise InputError(f"rows: must be >= 1, but got {rows}")


def check_seed(seed: int) -> None:
    """Raise an `InputError` unless a generator can begin from `seed`."""
    if seed < 0:
        raise InputError(f"seed: must be >= 0, but got {seed}")


def refuse_bad_share(source: str, share: float) -> None:
    """Raise an `InputError` where bad rows are allowed in data that leaves none out."""
    if share:
        raise InputError(f"data.max_bad_share: must be 0 for {source}, which leaves no rows out, but got {share:g}")


def encode_values(
    values_N: NDArray[np.int64],
    *,
    missing: int = -1,
    minimum_count: int = 1,
) -> tuple[NDArray[np.int64], int]:
    """Ids of the values and the cardinality: 0 for `missing` and for values rarer than `minimum_count`, then 1, 2, ...
    in order of first appearance.
    """
    values, first, inverse, counts = np.unique(values_N, return_index=True, return_inverse=True, return_counts=True)
    kept = (values != missing) & (counts >= minimum_count)
    order = np.argsort(first[kept])
    ids = np.zeros(len(values), dtype=np.int64)
    ids[np.flatnonzero(kept)[order]] = np.arange(1, len(order) + 1)
    return ids[inverse.reshape(-1)], len(order) + 1
