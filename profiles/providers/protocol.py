"""The extension point through which another package has its components measured."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from profiles.component import Component, Work

if TYPE_CHECKING:
    from torch import nn

__all__ = ["BuiltComponent", "ComponentProvider"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltComponent:
    """A module on the CPU and the arguments of one forward pass.

    `before`, where given, runs untimed before every timed call; it is moved to the device where it has a `to`.
    """

    module: "nn.Module"
    args: tuple[Any, ...]
    before: Callable[[], object] | None = None


class ComponentProvider(Protocol):
    """Builds components and knows their work; picklable, so that it can travel to a measuring worker.

    A provider is tested by subclassing `profiles.testing.ComponentProviderContract`.
    """

    def build(self, component: Component, seed: int) -> BuiltComponent:
        """The module and its inputs, called once per component before it is measured.

        Equal seeds give equal weights and inputs, whatever the state of the global generators.

        Raises:
            InputError: a kind or a shape that this provider does not know; the sweep then skips the component.
        """
        ...

    def work(self, component: Component) -> Work:
        """FLOPs and bytes by formula, without building; called for every component before a sweep starts."""
        ...
