"""Gradients of what a forward pass returned, for ones, with respect to what asked for them; no `.grad` is touched."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from profiles.errors import MeasurementError
from profiles.nested import tensors_of

__all__ = ["Graph", "gradient_edges", "graph_of"]


def gradient_edges(module: nn.Module, inputs: Any) -> list[Any]:
    """Of those inputs that require a gradient, then of the module's parameters that do.

    To be taken before the module runs: of an input that it writes the gradient before that is meant.
    """
    leaves = (*tensors_of(inputs), *module.parameters())
    return [torch.autograd.graph.get_gradient_edge(leaf) for leaf in leaves if leaf.requires_grad]


@dataclass(frozen=True, slots=True)
class Graph:
    """Outputs that require a gradient, what theirs are with respect to, and the gradients that they are given."""

    outputs: Sequence[torch.Tensor]
    edges: Sequence[Any]
    ones: Sequence[torch.Tensor]

    def gradients(self, *, keep: bool = False) -> tuple[torch.Tensor | None, ...]:
        """Run backward; with `keep` it can be run again."""
        return torch.autograd.grad(self.outputs, self.edges, self.ones, retain_graph=keep, allow_unused=True)


def graph_of(output: Any, edges: Sequence[Any]) -> Graph:
    """The graph under an output.

    Raises:
        MeasurementError: no output depends on anything that requires a gradient.
    """
    outputs = [tensor for tensor in tensors_of(output) if tensor.requires_grad]
    if not (outputs and edges):
        raise MeasurementError("no gradient flows from its outputs to an input or parameter")
    return Graph(outputs, edges, [torch.ones_like(one) for one in outputs])
