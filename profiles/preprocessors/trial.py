"""A run that is made only to see something, and leaves a model as it was."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from profiles.counting.operators import Operator, OperatorWatch
from profiles.walk.preservation import preserved

__all__ = ["trial"]


@contextmanager
def trial(model: nn.Module) -> Iterator[OperatorWatch]:
    """Take back what is done to the model inside, tables that a look-up renormalises included; counts FLOPs."""
    with preserved(model) as held:

        def tell(operator: Operator) -> None:
            for tensor in operator.written:
                held.before_write(tensor)

        with OperatorWatch(tell) as watch:
            yield watch
