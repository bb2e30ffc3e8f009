"""What the back ends share that read a group's tables with a kernel of fbgemm's."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

from torch import Tensor, nn

from representations.specs import Feature, TableSpec
from representations.tables.group import TableGroup

__all__ = ["KernelGroup"]


class KernelGroup(TableGroup):
    """A `TableGroup` that builds its kernel on first use on a device, and anew once it moved or was copied.

    The kernel is no submodule: its own bookkeeping is neither a parameter nor worth saving.
    """

    def __init__(self, features: Sequence[Feature], specs: Sequence[TableSpec]) -> None:
        super().__init__(features, specs)
        self._kernel: tuple[nn.Module, ...] = ()

    @property
    def kernel(self) -> nn.Module:
        """The kernel over this module's memory."""
        if not self._kernel:
            self._kernel = (self._new_kernel(),)
        return self._kernel[0]

    def drop_kernel(self) -> None:
        """Build another one before the next use."""
        self._kernel = ()

    @abstractmethod
    def _new_kernel(self) -> nn.Module:
        """A kernel that takes flat ids and offsets to [B, W]."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:  # noqa: FBT001, FBT002
        self.drop_kernel()
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kernel": ()}
