"""Bytes that a leaf module moves, by formula: inputs, outputs and parameters once each, of a table the touched rows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

__all__ = ["leaf_bytes", "state_bytes", "tensors_of"]


def leaf_bytes(module: nn.Module, inputs: Any, output: Any) -> float | None:
    """Bytes of one call of a leaf, or None for a class whose access pattern is not known."""
    if not type(module).__module__.startswith("torch.nn."):
        return None
    ids = list(tensors_of(inputs))
    moved = _bytes(ids) + _bytes(tensors_of(output))
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):
        return moved + ids[0].numel() * module.embedding_dim * module.weight.element_size()
    return moved + state_bytes(module)


def state_bytes(module: nn.Module) -> int:
    """Bytes of parameters and persistent buffers, tied ones once, and of views no more than they show.

    Tensors that share a storage count together, but never more than the storage.
    """
    views: dict[tuple[str, int], dict[tuple[int, int], int]] = defaultdict(dict)
    most_bytes: dict[tuple[str, int], int] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        if isinstance(tensor, torch.Tensor):
            storage = tensor.untyped_storage()
            pointer = storage.data_ptr()
            # Tensors without memory (device `meta`) have no address to tell them apart by.
            key = (str(tensor.device), pointer) if pointer else (name, 0)
            views[key][int(tensor.storage_offset()), tensor.numel()] = _bytes([tensor])
            most_bytes[key] = storage.nbytes()
    return sum(min(sum(shown.values()), most_bytes[key]) for key, shown in views.items())


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in nested containers, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from tensors_of(part)
    elif isinstance(value, Mapping):
        yield from tensors_of(tuple(value.values()))


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
