"""The backward pass of a module alone: gradients of its outputs, with respect to what wants one."""

from typing import Any

import torch

from profiles.counting.operators import OperatorWatch
from profiles.errors import MeasurementError
from profiles.nested import tensors_of
from profiles.walk.capture import CapturedCall
from profiles.walk.isolation import Timed
from profiles.walk.subject import Subject
from profiles.walk.tree import is_compiled

__all__ = ["backward_calls", "backward_flops", "backward_of"]

Graph = tuple[list[torch.Tensor], list[Any], list[torch.Tensor]]


def backward_calls(subject: Subject) -> tuple[CapturedCall, ...]:
    """The calls that were made with gradients on."""
    return tuple(call for call in subject.calls if call.state.is_grad and not call.state.is_inference)


def backward_of(subject: Subject, call: CapturedCall) -> Timed:
    """The backward pass alone: the forward one is run here, and its graph kept for every time.

    Gradients, of ones, are with respect to the module's parameters and those inputs that required one in the model;
    none is accumulated. Autocast is off, as it is in training. What is compiled may not be run on one graph twice: it
    gets a new one, untimed, every time.

    Raises:
        MeasurementError: no output depends on anything that requires a gradient.
    """
    graph = _graph(subject, call)
    if not any(map(is_compiled, subject.module.modules())):
        return Timed(lambda: torch.autograd.grad(*graph, retain_graph=True, allow_unused=True), is_in_context=False)
    held = [graph]

    def refresh() -> None:
        with subject.context(call):
            held[0] = _graph(subject, call)

    return Timed(lambda: torch.autograd.grad(*held[0], allow_unused=True), refresh, is_in_context=False)


def _graph(subject: Subject, call: CapturedCall) -> Graph:
    """Run forward: the outputs, what their gradients are with respect to, and the gradients that they are given."""
    call = call.fresh()
    inputs = tensors_of((call.args, dict(call.kwargs)))
    wanted = [tensor for tensor in (*inputs, *subject.module.parameters()) if tensor.requires_grad]
    # Of an input that is written the gradient before that is meant.
    edges = [torch.autograd.graph.get_gradient_edge(tensor) for tensor in wanted]
    outputs = [tensor for tensor in tensors_of(subject.run(call)) if tensor.requires_grad]
    if not (outputs and edges):
        raise MeasurementError("no gradient flows from its outputs to an input or parameter")
    return outputs, edges, [torch.ones_like(output) for output in outputs]


def backward_flops(subject: Subject) -> float:
    """FLOPs of the backward passes of all calls that one pass of the model makes, by the formulas for forward ones."""
    flops = 0.0
    for call in subject.calls:
        with subject.context(call):
            timed = backward_of(subject, call)
        watch = OperatorWatch(lambda _: None)
        with watch:
            timed.call()
        flops += watch.flops * call.count * call.weight
    return flops
