"""Leave a model and the random generators as they were found."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

__all__ = ["preserved"]


@contextmanager
def preserved(model: nn.Module) -> Iterator[None]:
    """Put back training flags, buffers (BatchNorm statistics), gradients and generator states, also after an error.

    Parameters are not copied: a forward pass does not write them. Generators are torch's (CPU, and CUDA where the
    model is there) and Python's.
    """
    flags = [(module, module.training) for module in model.modules()]
    # Copies of the very tensors, so that buffers which the forward pass rebinds come back as well.
    buffers = [
        (module, name, buffer, buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module.named_buffers(recurse=False)
    ]
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    python_state = random.getstate()
    cuda_devices = sorted({tensor.device.index for tensor in model.state_dict().values() if tensor.is_cuda})
    try:
        with torch.random.fork_rng(devices=cuda_devices):
            yield
    finally:
        random.setstate(python_state)
        for module, is_training in flags:
            module.training = is_training
        for parameter, gradient in gradients:
            parameter.grad = gradient
        with torch.no_grad():
            for module, name, buffer, values in buffers:
                buffer.copy_(values)
                setattr(module, name, buffer)
