"""Passes of a whole model over its batches, in which its modules are watched."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from torch import nn

from profiles.providers.target import InputBatch
from profiles.stopwatch import Stopwatch
from profiles.walk.tree import ModuleNode

__all__ = ["ModelPasses"]


class ModelPasses:
    """What timing a model's passes needs: the nodes to watch, the batches with their shares, a clock.

    `contexts` make what is entered around every pass.
    """

    def __init__(
        self,
        nodes: tuple[ModuleNode, ...],
        model: nn.Module,
        batches: Sequence[InputBatch],
        torch_name: str,
        contexts: Sequence[Callable[[], AbstractContextManager[object]]] = (),
    ) -> None:
        weight = sum(batch.weight for batch in batches)
        self.nodes, self.model, self._contexts = nodes, model, contexts
        self.batches = [(batch, batch.weight / weight) for batch in batches]
        self.watch = Stopwatch(torch_name)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """In the contexts."""
        with ExitStack() as stack:
            for make in self._contexts:
                stack.enter_context(make())
            yield
