"""The check of a model's whole input where it enters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from representations.ids import check_bags, check_ids
from representations.specs import ModelSpec

if TYPE_CHECKING:
    from torch import Tensor

    from representations.bags import Ids

__all__ = ["check_dense", "check_inputs"]


def check_dense(dense_NF: NDArray[np.float32], names: Sequence[str], *, first_row: int = 0) -> None:
    """Raise an `InputError` naming feature, row and value unless every number is finite; `names` are the columns'."""
    if dense_NF.ndim != 2 or dense_NF.shape[1] != len(names):
        raise InputError(f"dense features: must be of shape [N, {len(names)}], but got {list(dense_NF.shape)}")
    is_finite = np.isfinite(dense_NF)
    if is_finite.all():
        return
    row, column = (int(i) for i in np.argwhere(~is_finite)[0])
    raise InputError(
        f"dense feature {names[column]!r}, row {first_row + row}: must be finite, but got {dense_NF[row, column]}"
    )


def check_inputs(spec: ModelSpec, dense_BF: "Tensor", ids: "Ids", *, first_row: int = 0) -> None:
    """Check what a model of that spec is about to be called with; dense features go by their number.

    Raises:
        InputError: dense features that are not finite, an id out of range, an empty bag, a feature too few, features of
            different numbers of samples.
    """
    from torch import Tensor

    from representations.bags import bags_of

    if spec.dense_features:
        names = [str(i) for i in range(spec.dense_features)]
        check_dense(dense_BF.numpy(force=True), names, first_row=first_row)
    if isinstance(ids, Tensor):
        check_ids(ids.numpy(force=True), spec.features, first_row=first_row)
        bags = []
    else:
        bags = bags_of(ids, [feature.name for feature in spec.features])
    for feature, bag in zip(spec.features, bags, strict=False):
        arrays = [part.numpy(force=True) for part in bag]
        offsets_B = arrays[1] if len(arrays) == 2 else np.arange(len(arrays[0]))
        check_bags(arrays[0], offsets_B, feature, first_row=first_row)
    samples = {len(ids)} if isinstance(ids, Tensor) else {len(bag[-1]) for bag in bags}
    samples |= {len(dense_BF)} if spec.dense_features else set()
    if len(samples) > 1:
        raise InputError(f"inputs: all features need as many samples, but there are {sorted(samples)}")
