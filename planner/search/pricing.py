"""What screening asks of others: the costs of candidates by column."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from planner.search.accuracy_model import Floats
from planner.search.space_columns import SpaceColumns

__all__ = ["ColumnPricer", "PricesColumns"]


class ColumnPricer(Protocol):
    """Called with thousands of candidates at a time, so it should take microseconds for each."""

    def __call__(self, columns: SpaceColumns, /) -> Mapping[str, Floats]:
        """The predicted costs by name, each of shape [N]: at least those that are objectives or constrained."""
        ...


@runtime_checkable
class PricesColumns(Protocol):
    """A `Predictor` that can also price candidates by column, as spaces need that are not flat or large."""

    @property
    def by_column(self) -> ColumnPricer:
        """The pricer; each call of this may make it anew."""
        ...
