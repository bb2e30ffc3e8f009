"""Stacks of linear layers, whose modules are named by layer: 0, relu_0, 1, relu_1, ..."""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise

from torch import nn

__all__ = ["build_mlp"]


def build_mlp(sizes: Sequence[int], *, relu_after_last: bool) -> nn.Sequential:
    """Linear layers from sizes[0] inputs through to sizes[-1] outputs, a ReLU after each (the last only if asked)."""
    modules: OrderedDict[str, nn.Module] = OrderedDict()
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        modules[str(i)] = nn.Linear(inputs, outputs)
        if relu_after_last or i < len(sizes) - 2:
            modules[f"relu_{i}"] = nn.ReLU()
    return nn.Sequential(modules)
