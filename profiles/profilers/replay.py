"""Run a subject as one pass runs it: forward, and where its phase is the backward one, backward after it."""

from typing import Any

from profiles.errors import MeasurementError
from profiles.walk.capture import CapturedCall
from profiles.walk.gradients import gradient_edges, graph_of
from profiles.walk.subject import Subject

__all__ = ["Replay"]


class Replay:
    """One call, on inputs of its own: copies, so that modules that work in place always find what was captured.

    Both steps run in the context in which the call was captured.
    """

    def __init__(self, subject: Subject, call: CapturedCall) -> None:
        self._subject, self._call = subject, call.fresh()
        inputs = (self._call.args, dict(self._call.kwargs))
        self._edges = gradient_edges(subject.module, inputs) if subject.phase == "backward" else []

    def forward(self) -> Any:
        """The output, with the graph that the backward pass needs."""
        with self._subject.context(self._call):
            return self._subject.run(self._call)

    def backward(self, output: Any) -> Any:
        """Gradients, for ones, of the parameters and of the inputs that ask for them; none where the output has none.

        They are returned: no `.grad` is touched.
        """
        try:
            return graph_of(output, self._edges).gradients()
        except MeasurementError:
            return ()

    def run(self) -> Any:
        """The steps of the subject's phase; returns what they leave."""
        output = self.forward()
        return (output, self.backward(output)) if self._subject.phase == "backward" else output
