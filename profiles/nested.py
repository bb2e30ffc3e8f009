"""The tensors inside any value: containers, dataclasses, and objects by their attributes."""

from collections import deque
from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn

__all__ = ["attributes_of", "parts_of", "signature", "tensors_of"]

PLAIN = (bool, int, float, complex, str, bytes)
# Looked into by nobody: what they refer to is not part of a value.
_CLOSED = (*PLAIN, torch.Tensor, nn.Module, type, FunctionType, MethodType, ModuleType)


def parts_of(value: Any) -> list[tuple[str, Any]]:
    """What a value consists of, by name; empty for a tensor and for what cannot be looked into.

    A parameterised module among the inputs is none of its parts: it belongs to the model.
    """
    if value is None or isinstance(value, _CLOSED):
        return []
    if isinstance(value, Mapping):
        return [(str(key), part) for key, part in value.items()]
    if isinstance(value, tuple | list | set | frozenset | deque):
        return [(str(place), part) for place, part in enumerate(value)]
    return list(attributes_of(value).items())


def attributes_of(value: Any) -> dict[str, Any]:
    """What an object holds in `__dict__` and `__slots__`."""
    found: dict[str, Any] = dict(getattr(value, "__dict__", {}))
    for owner in type(value).__mro__:
        slots = owner.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in a value, in order; what holds itself, or is held twice, is looked into once."""
    yield from _tensors_of(value, {})


def signature(value: Any) -> str:
    """Shapes and dtypes of the tensors in a value, strides where these are not contiguous, scalars by value.

    Of an object that is no container: its class, and the attributes in which there are tensors.
    """
    return _signature(value, frozenset())


def _tensors_of(value: Any, seen: dict[int, Any]) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
        return
    parts = parts_of(value)
    if parts and id(value) not in seen:
        seen[id(value)] = value
        for _, part in parts:
            yield from _tensors_of(part, seen)


def _signature(value: Any, above: frozenset[int]) -> str:
    if isinstance(value, torch.Tensor):
        return _tensor_signature(value)
    if value is None or isinstance(value, PLAIN):
        return repr(value)
    if id(value) in above:
        return "..."
    above |= {id(value)}
    if isinstance(value, tuple | list):
        return f"({', '.join(_signature(part, above) for part in value)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_signature(part, above)}' for key, part in value.items())}}}"
    below = [(name, part) for name, part in parts_of(value) if id(part) not in above]
    held = {name.lstrip("_"): part for name, part in below if next(tensors_of(part), None) is not None}
    name = type(value).__name__
    return f"{name}{_signature(held, above)}" if held else name


def _tensor_signature(tensor: torch.Tensor) -> str:
    text = f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
    if tensor.is_nested or tensor.layout is not torch.strided:
        return f"{text} {str(tensor.layout).removeprefix('torch.')}"
    return text if tensor.is_contiguous() else f"{text} strides {list(tensor.stride())}"
