"""What screening asks of others: the costs of candidates by column."""

from collections.abc import Mapping
from typing import Protocol

from planner.search.accuracy_model import Floats
from planner.search.space_columns import SpaceColumns

__all__ = ["ColumnPricer"]


class ColumnPricer(Protocol):
    """Called with thousands of candidates at a time, so it should take microseconds for each."""

    def __call__(self, columns: SpaceColumns, /) -> Mapping[str, Floats]:
        """The predicted costs by name, each of shape [N]: at least those that are objectives or constrained."""
        ...
