"""Bytes that a leaf module moves, by formula: inputs, outputs and parameters once each, of a table the touched rows."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch import nn

from profiles.nested import tensors_of

__all__ = ["distinct_bytes", "leaf_bytes", "state_bytes", "tensors_of", "touched_rows"]


def leaf_bytes(module: nn.Module, inputs: tuple[Sequence[Any], Mapping[str, Any]], output: Any) -> float | None:
    """Bytes of one call of a leaf, or None for a class whose access pattern is not known.

    Inputs and outputs count once each however many name them. Of an embedding table the distinct rows that are looked
    up: what has to come from memory, however often caches give a row again.
    """
    if not type(module).__module__.startswith("torch.nn."):
        return None
    moved = distinct_bytes(tensors_of(inputs)) + distinct_bytes(tensors_of(output))
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):
        return moved + (touched_rows(module, inputs) or 0) * module.embedding_dim * module.weight.element_size()
    return moved + state_bytes(module)


def touched_rows(module: nn.Module, inputs: tuple[Sequence[Any], Mapping[str, Any]]) -> int | None:
    """The number of distinct rows that a call of an embedding table looks up; None of other modules.

    `inputs` are the positional ones and those by name, of which `input` holds the ids wherever it stands.
    """
    if not isinstance(module, nn.Embedding | nn.EmbeddingBag):
        return None
    args, kwargs = inputs
    ids = next(tensors_of(kwargs.get("input", (args, kwargs))), None)
    return 0 if ids is None else torch.unique(ids).numel()


def state_bytes(module: nn.Module) -> int:
    """Bytes of parameters and persistent buffers, tied ones once, and of views no more than they show."""
    state = module.state_dict(keep_vars=True)
    return distinct_bytes(tensor for tensor in state.values() if isinstance(tensor, torch.Tensor))


def distinct_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Bytes of tensors; those that share a storage count together, but never more than the storage.

    A tensor that is expanded from one element is that element.
    """
    views: dict[tuple[str, int], dict[tuple[int, int], int]] = defaultdict(dict)
    most_bytes: dict[tuple[str, int], int] = {}
    apart = 0
    for place, tensor in enumerate(tensors):
        try:
            storage = tensor.untyped_storage()
            pointer, capacity, offset = storage.data_ptr(), storage.nbytes(), int(tensor.storage_offset())
        except (NotImplementedError, RuntimeError):
            apart += _stored_bytes(tensor)
            continue
        # Tensors without memory (device `meta`) have no address to tell them apart by.
        key = (str(tensor.device), pointer) if pointer else (f"{place}", 0)
        views[key][offset, tensor.numel()] = _shown_bytes(tensor)
        most_bytes[key] = capacity
    return apart + sum(min(sum(shown.values()), most_bytes[key]) for key, shown in views.items())


def _shown_bytes(tensor: torch.Tensor) -> int:
    if tensor.is_nested:
        return tensor.numel() * tensor.element_size()
    shape_and_strides = zip(tensor.shape, tensor.stride(), strict=True)
    shown = prod(length if stride else min(length, 1) for length, stride in shape_and_strides)
    return shown * tensor.element_size()


def _stored_bytes(tensor: torch.Tensor) -> int:
    """Of a sparse tensor, which has no storage of its own: its values and indices."""
    if tensor.layout is torch.sparse_coo:
        stored = [tensor._values(), tensor._indices()]  # noqa: SLF001 (the public ones ask for a coalesced tensor)
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        stored = [tensor.values(), tensor.crow_indices(), tensor.col_indices()]
    elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        stored = [tensor.values(), tensor.ccol_indices(), tensor.row_indices()]
    else:
        stored = [tensor]
    return sum(one.numel() * one.element_size() for one in stored)
