"""Leave a model and the random generators as they were found."""

import random
import warnings
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from profiles.errors import InputError
from profiles.nested import tensors_of
from profiles.walk.input_copies import StorageKey, storage_key

__all__ = ["Preserved", "preserved"]

_MUTABLE = (dict, OrderedDict, list, set, deque)


class Preserved:
    """The tensors of a model, and copies of those that are written.

    Buffers are copied at once. A parameter, or a tensor in an attribute, also one inside a container or an object, is
    copied where `before_write` tells of it. Of all the memory in which they lie is known.
    """

    def __init__(self, model: nn.Module, *, copies_parameters: bool = False) -> None:
        self._tensors: dict[StorageKey, list[torch.Tensor]] = {}
        self._versions = [(name, one, _version(one)) for name, one in model.named_parameters()]
        self._copies: dict[StorageKey, list[tuple[torch.Tensor, torch.Tensor, int | None]]] = {}
        tensors = _tensors(model)
        self._places = [_Place(tensor) for tensor in tensors if storage_key(tensor)]
        for tensor in tensors:
            self._tensors.setdefault(_key(tensor), []).append(tensor)
        for tensor in (*model.buffers(), *(model.parameters() if copies_parameters else ())):
            self.before_write(tensor)

    @property
    def storages(self) -> frozenset[StorageKey]:
        """The memory that is the model's own."""
        return frozenset(self._tensors)

    def before_write(self, tensor: torch.Tensor) -> None:
        """Copy what of the model lies in this tensor's memory, unless that is done."""
        key = _key(tensor)
        if key in self._tensors and key not in self._copies:
            held = self._tensors[key]
            self._copies[key] = [(one, one.detach().clone(), _version(one)) for one in held]

    @torch.no_grad()
    def restore(self) -> None:
        """Put memory and copies back where something was written; warn of a parameter that was, and has no copy.

        What cannot be put back raises after all else was.
        """
        with ExitStack() as last_first:
            last_first.callback(self._warn_of_written)
            for copies in self._copies.values():
                for copy in copies:
                    last_first.callback(_restore_values, *copy)
            for place in self._places:
                last_first.callback(place.restore)

    def _warn_of_written(self) -> None:
        for name, parameter, version in self._versions:
            if _version(parameter) != version and _key(parameter) not in self._copies:
                warnings.warn(f"model: {name} was written after the capturing pass and stays so", stacklevel=2)


class _Place:
    """Where a tensor lies, and whether it asks for a gradient: assigning to `data` changes the one, silently."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor, self._alias, self._is_grad = tensor, tensor.detach(), tensor.requires_grad

    def restore(self) -> None:
        tensor, alias = self._tensor, self._alias
        if _layout(tensor) != _layout(alias):
            tensor.data = alias
        if tensor.is_leaf and tensor.requires_grad != self._is_grad:
            tensor.requires_grad_(self._is_grad)


@contextmanager
def preserved(model: nn.Module, *, copies_parameters: bool = False) -> Iterator[Preserved]:
    """Put back training flags, tensors, gradients, hooks, attributes and generator states, also after an error.

    Buffers (BatchNorm statistics) are copied beforehand, and parameters on request: a backward pass may step a fused
    optimiser. Attributes of modules that are rebound, and the contents of their lists, dicts and sets, come back too;
    what happens inside other objects does not. Gradients are out of the way inside. Generators are torch's (CPU, and
    CUDA where the model is there), NumPy's global one and Python's.

    Raises:
        InputError: a parameter has no shape before the first call (`LazyLinear`), which nothing could undo.
    """
    _require_materialised(model)
    held = Preserved(model, copies_parameters=copies_parameters)
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    # Each step by itself, so that one that raises leaves the others to be made.
    with ExitStack() as last_first:
        for parameter, gradient in gradients:
            last_first.callback(setattr, parameter, "grad", gradient)
        last_first.callback(held.restore)
        for module in model.modules():
            last_first.callback(_restore_flag, module, is_training=module.training)
            last_first.callback(_restore_attributes, module, _held_attributes(module))
        last_first.enter_context(_generators_preserved(model))
        for parameter, _ in gradients:
            parameter.grad = None
        yield held


def _require_materialised(model: nn.Module) -> None:
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if is_lazy(tensor):
            raise InputError(
                f"model: {name} has no shape before the first call; run the model once before profiling it"
            )


@contextmanager
def _generators_preserved(model: nn.Module) -> Iterator[None]:
    python_state = random.getstate()
    numpy_state = np.random.get_state()  # noqa: NPY002 (models may draw from the global generator)
    cuda_devices = sorted({tensor.device.index for tensor in _tensors(model) if tensor.is_cuda})
    with ExitStack() as stack:
        stack.callback(random.setstate, python_state)
        stack.callback(np.random.set_state, numpy_state)
        stack.enter_context(torch.random.fork_rng(devices=cuda_devices))
        yield


def _tensors(model: nn.Module) -> list[torch.Tensor]:
    found = (tensor for module in model.modules() for tensor in tensors_of(vars(module)))
    return list({id(tensor): tensor for tensor in found}.values())


def _layout(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()


def _restore_values(tensor: torch.Tensor, values: torch.Tensor, version: int | None) -> None:
    if _version(tensor) != version or not (storage_key(tensor) is None or torch.equal(tensor, values)):
        with torch.inference_mode() if tensor.is_inference() else nullcontext():
            tensor.copy_(values)


def _restore_flag(module: nn.Module, *, is_training: bool) -> None:
    if module.training != is_training:
        module.training = is_training


def _held_attributes(module: nn.Module) -> dict[str, tuple[Any, Any]]:
    """By name: the very object, and of a container that can change also what is in it."""
    return {name: (value, value.copy() if type(value) in _MUTABLE else None) for name, value in vars(module).items()}


def _restore_attributes(module: nn.Module, held: dict[str, tuple[Any, Any]]) -> None:
    current = vars(module)
    for name in current.keys() - held.keys():
        del current[name]
    for name, (value, contents) in held.items():
        current[name] = value
        if contents is not None and not _is_same(value, contents):
            value.clear()
            (value.extend if isinstance(value, list | deque) else value.update)(contents)


def _is_same(value: Any, contents: Any) -> bool:
    """Whether a container holds the very objects that it held, in that order; those of a set are hashable."""
    if isinstance(value, set):
        return bool(value == contents)
    if isinstance(value, dict):
        return _is_same([*value.keys(), *value.values()], [*contents.keys(), *contents.values()])
    return len(value) == len(contents) and all(map(lambda a, b: a is b, value, contents))


def _key(tensor: torch.Tensor) -> StorageKey:
    """By its memory, or where it has none of its own (sparse, a subclass) by itself."""
    return storage_key(tensor) or ("", id(tensor))


def _version(tensor: torch.Tensor) -> int | None:
    """Counts writes; tensors of inference mode have none."""
    return None if tensor.is_inference() else tensor._version  # noqa: SLF001 (no public way to ask)
