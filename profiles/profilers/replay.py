"""Run a subject as one pass runs it: forward, and where its phase is the backward one, backward after it."""

from typing import Any

import torch

from profiles.nested import tensors_of
from profiles.walk.capture import CapturedCall
from profiles.walk.subject import Subject

__all__ = ["Replay"]


class Replay:
    """One call, on inputs of its own: copies, so that modules that work in place always find what was captured.

    Both steps run in the context in which the call was captured.
    """

    def __init__(self, subject: Subject, call: CapturedCall) -> None:
        self._subject, self._call = subject, call.fresh()
        leaves = [*subject.module.parameters(), *tensors_of((self._call.args, dict(self._call.kwargs)))]
        # Of an input that is written the gradient before that is meant.
        asked = [leaf for leaf in leaves if leaf.requires_grad] if subject.phase == "backward" else []
        self._edges: list[Any] = [torch.autograd.graph.get_gradient_edge(leaf) for leaf in asked]

    def forward(self) -> Any:
        """The output, with the graph that the backward pass needs."""
        with self._subject.context(self._call):
            return self._subject.run(self._call)

    def backward(self, output: Any) -> Any:
        """Gradients, for ones, of the parameters and of the inputs that ask for them; none where the output has none.

        They are returned: no `.grad` is touched.
        """
        roots = [tensor for tensor in tensors_of(output) if tensor.requires_grad]
        if not (roots and self._edges):
            return ()
        ones = [torch.ones_like(root) for root in roots]
        return torch.autograd.grad(roots, self._edges, ones, allow_unused=True)

    def run(self) -> Any:
        """The steps of the subject's phase; returns what they leave."""
        output = self.forward()
        return (output, self.backward(output)) if self._subject.phase == "backward" else output
