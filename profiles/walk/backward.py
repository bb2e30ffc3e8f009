"""The backward pass of a module alone: gradients of its outputs, with respect to what wants one."""

from profiles.counting.operators import OperatorWatch
from profiles.walk.capture import CapturedCall
from profiles.walk.gradients import Graph, gradient_edges, graph_of
from profiles.walk.isolation import Timed
from profiles.walk.subject import Subject
from profiles.walk.tree import is_compiled

__all__ = ["backward_calls", "backward_flops", "backward_of"]


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
        return Timed(lambda: graph.gradients(keep=True), is_in_context=False)
    held = [graph]

    def refresh() -> None:
        with subject.context(call):
            held[0] = _graph(subject, call)

    return Timed(lambda: held[0].gradients(keep=False), refresh, is_in_context=False)


def _graph(subject: Subject, call: CapturedCall) -> Graph:
    call = call.fresh()
    edges = gradient_edges(subject.module, (call.args, dict(call.kwargs)))
    return graph_of(subject.run(call), edges)


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
