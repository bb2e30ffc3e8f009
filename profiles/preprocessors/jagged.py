"""Larger batches of torchrec's jagged tensors: bags by key, each key's ids together."""

from typing import Any

import torch

from profiles.errors import MeasurementError
from profiles.preprocessors.growth import Growth, growers

__all__ = ["grow_jagged", "grow_keyed_jagged"]


def grow_keyed_jagged(growth: Growth, small: Any, double: Any) -> Any:
    """A `KeyedJaggedTensor`, tiled per key.

    Raises:
        MeasurementError: keys of different batch sizes.
    """
    if small.variable_stride_per_key():
        raise MeasurementError("batch: a KeyedJaggedTensor whose keys have batches of their own cannot be replicated")
    if double is not None and small.stride() == double.stride():
        return small
    lengths_KB = small.lengths().view(len(small.keys()), -1)
    per_key = lengths_KB.sum(1).tolist()
    weights = small.weights_or_none()
    return type(small)(
        keys=small.keys(),
        values=torch.cat([growth.more(ids_N[None])[0] for ids_N in small.values().split(per_key)]),
        weights=None if weights is None else torch.cat([part.repeat(growth.factor) for part in weights.split(per_key)]),
        lengths=lengths_KB.repeat(1, growth.factor).flatten(),
    )


def grow_jagged(growth: Growth, small: Any, double: Any) -> Any:
    """A `JaggedTensor`: whole numbers by `growth.more`, all else tiled."""
    if double is not None and len(small.lengths()) == len(double.lengths()):
        return small
    values, weights = small.values(), small.weights_or_none()
    is_ids = values.ndim == 1 and not values.is_floating_point()
    return type(small)(
        values=growth.more(values[None])[0] if is_ids else values.repeat(growth.factor, *[1] * (values.ndim - 1)),
        weights=None if weights is None else weights.repeat(growth.factor),
        lengths=small.lengths().repeat(growth.factor),
    )


growers.register("torchrec.sparse.jagged_tensor.KeyedJaggedTensor", grow_keyed_jagged)
growers.register("torchrec.sparse.jagged_tensor.JaggedTensor", grow_jagged)
