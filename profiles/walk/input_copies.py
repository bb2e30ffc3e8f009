"""Copies of inputs that share no memory with them and are laid out as they are."""

import copy
from collections import deque
from collections.abc import Container
from typing import Any

import torch
from torch import nn

from profiles.nested import PLAIN, attributes_of, tensors_of

__all__ = ["StorageKey", "clone_inputs", "storage_key"]

# Of two dtypes that see one storage, each finds its elements at whole places.
_ALIGNMENT_BYTES = 16
StorageKey = tuple[str, int]


def clone_inputs(value: Any, keep: Container[StorageKey] = ()) -> Any:
    """A copy in which tensors are leaves that require a gradient where the originals do.

    Strides stay, and so does what shares memory among the inputs: a tensor expanded from one element stays that small.
    Tensors in the storages `keep` (a model's own) are not copied. Containers and objects are rebuilt around the copies;
    what cannot be copied (locks, handles, modules) is shared.
    """
    with torch.no_grad():
        return _Copies(value, keep).of(value)


def storage_key(tensor: torch.Tensor) -> StorageKey | None:
    """What tells the tensor's memory apart; None where it has none of its own (sparse, nested, empty, `meta`)."""
    if type(tensor) not in (torch.Tensor, nn.Parameter, nn.Buffer) or tensor.layout is not torch.strided:
        return None
    if tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.is_nested:
        return None
    pointer = tensor.untyped_storage().data_ptr()
    return (str(tensor.device), pointer) if pointer and tensor.numel() else None


class _Copies:
    """Copies made so far, by the identity of what was copied; of a storage only the span that the inputs show."""

    def __init__(self, value: Any, keep: Container[StorageKey]) -> None:
        self._keep = keep
        self._made: dict[int, Any] = {}
        self._spans: dict[StorageKey, tuple[int, int]] = {}
        self._shared: set[StorageKey] = set()
        self._copied: dict[StorageKey, torch.UntypedStorage] = {}
        for tensor in tensors_of(value):
            if (key := storage_key(tensor)) and key not in keep:
                first, last = _span_bytes(tensor)
                if key in self._spans:
                    self._shared.add(key)
                known = self._spans.get(key, (first, last))
                self._spans[key] = (min(known[0], first), max(known[1], last))

    def of(self, value: Any) -> Any:
        if value is None or isinstance(value, (*PLAIN, nn.Module, type)):
            return value
        if id(value) not in self._made:
            self._made[id(value)] = self._copy(value)
        return self._made[id(value)]

    def _copy(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, torch.Generator):
            return value.clone_state()
        if type(value) in (tuple, set, frozenset):
            return type(value)(self.of(part) for part in value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self.of(part) for part in value))
        try:
            return self._object(value)
        except Exception:  # noqa: BLE001 (an object that cannot be copied is shared: locks, handles, generators)
            return value

    def _object(self, value: Any) -> Any:
        attributes = attributes_of(value)
        if not attributes and not isinstance(value, list | dict | deque):
            return copy.deepcopy(value, self._made)
        made = self._made[id(value)] = copy.copy(value)
        if isinstance(value, list | deque):
            made.clear()
            made.extend(self.of(part) for part in value)
        elif isinstance(value, dict):
            for key, part in value.items():
                dict.__setitem__(made, key, self.of(part))
        for name, part in attributes.items():
            object.__setattr__(made, name, self.of(part))
        return made

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        key = storage_key(tensor)
        if key in self._keep:
            return tensor if tensor.is_leaf else _as_leaf(tensor.detach(), tensor)
        if key is None or (key not in self._shared and tensor.is_contiguous()):
            return _as_leaf(tensor.detach().clone(), tensor)
        first, last = self._spans[key]
        if key not in self._copied:
            bytes_N = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
            self._copied[key] = bytes_N[first:last].clone().untyped_storage()
        offset = tensor.storage_offset() - first // tensor.element_size()
        made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return _as_leaf(made.set_(self._copied[key], offset, tensor.shape, tensor.stride()), tensor)


def _span_bytes(tensor: torch.Tensor) -> tuple[int, int]:
    size = tensor.element_size()
    first = int(tensor.storage_offset()) * size
    steps = sum((length - 1) * stride for length, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return first - first % _ALIGNMENT_BYTES, first + (steps + 1) * size


def _as_leaf(made: torch.Tensor, original: torch.Tensor) -> torch.Tensor:
    return made.requires_grad_() if original.requires_grad else made
