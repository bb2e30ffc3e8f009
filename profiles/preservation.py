"""Leave a model and the random generators as they were found."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

__all__ = ["preserved"]

# By name: the tensor, and a copy of its values.
HeldBuffers = Mapping[str, tuple[torch.Tensor | None, torch.Tensor | None]]


@contextmanager
def preserved(model: nn.Module) -> Iterator[None]:
    """Put back training flags, buffers (BatchNorm statistics), gradients and generator states, also after an error.

    Parameters are not copied: a forward pass does not write them. A buffer that was None or not there is so again.
    Generators are torch's (CPU, and CUDA where the model is there), NumPy's global one and Python's.
    """
    flags = [(module, module.training) for module in model.modules()]
    buffers = [(module, _held_buffers(module)) for module in model.modules()]
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    python_state = random.getstate()
    numpy_state = np.random.get_state()  # noqa: NPY002 (models may draw from the global generator)
    cuda_devices = sorted({tensor.device.index for tensor in model.state_dict().values() if tensor.is_cuda})
    try:
        with torch.random.fork_rng(devices=cuda_devices):
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002 (as above)
        for module, is_training in flags:
            module.training = is_training
        for parameter, gradient in gradients:
            parameter.grad = gradient
        with torch.no_grad():
            for module, held in buffers:
                _restore_buffers(module, held)


def _held_buffers(module: nn.Module) -> HeldBuffers:
    """The very tensors and copies of them, so that buffers which the forward pass rebinds come back as well."""
    held = _buffers(module)
    return {name: (buffer, None if buffer is None else buffer.detach().clone()) for name, buffer in held.items()}


def _restore_buffers(module: nn.Module, held: HeldBuffers) -> None:
    for name in _buffers(module).keys() - held.keys():
        delattr(module, name)
    for name, (buffer, values) in held.items():
        if buffer is not None and values is not None:
            buffer.copy_(values)
        setattr(module, name, buffer)


def _buffers(module: nn.Module) -> dict[str, torch.Tensor | None]:
    return module._buffers  # noqa: SLF001 (`named_buffers` leaves out those that are None)
