"""The device on which a target is, made the current one: events and streams are those of the current device."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from profiles.counting.traffic import tensors_of
from profiles.providers.target import Target

__all__ = ["device_of", "on_device"]


def device_of(target: Target) -> str:
    """As torch names it; the CPU where there is no tensor."""
    inputs = [(batch.args, dict(batch.kwargs)) for batch in target.batches]
    tensors = (*target.model.parameters(), *target.model.buffers(), *tensors_of(inputs))
    return str(tensors[0].device) if tensors else "cpu"


def on_device(torch_name: str) -> AbstractContextManager[Any]:
    """With that GPU as the current one; nothing on other devices."""
    return torch.cuda.device(torch_name) if torch_name.startswith("cuda") else nullcontext()
