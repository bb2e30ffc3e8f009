"""What tells one captured model from another, so that parts of different models never make one profile."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence

from torch import nn

from profiles.walk.capture import Observation
from profiles.walk.tree import ModuleNode

__all__ = ["model_identity"]

# Python's default text of an object holds its address, another one in every process.
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")


def model_identity(nodes: Sequence[ModuleNode], observed: Sequence[Observation]) -> str:
    """The same in every process for a model of the same modules, parameter shapes and inputs; weights don't count."""
    found = [
        (
            node.path,
            node.class_name,
            node.module.extra_repr(),
            list(_tensors(node.module)),
            [(call.batch, call.count, round(call.weight, 9), call.signature) for call in seen.calls],
        )
        for node, seen in zip(nodes, observed, strict=True)
    ]
    return hashlib.sha256(_ADDRESS.sub("", json.dumps(found)).encode()).hexdigest()[:24]


def _tensors(module: nn.Module) -> Iterator[str]:
    held = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
    return (f"{name} {tuple(tensor.shape)} {tensor.dtype}" for name, tensor in held)
