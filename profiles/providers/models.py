"""The extension point through which models to profile get their names."""

from typing import Protocol

from profiles.providers.target import Target
from profiles.registry import Registry

__all__ = ["ModelProvider", "model_providers"]


class ModelProvider(Protocol):
    """Gives models by name, e.g. `nanogpt`; tested by subclassing `profiles.testing.ModelProviderContract`."""

    def names(self) -> tuple[str, ...]:
        """What can be loaded, sorted; cheap, nothing is built."""
        ...

    def load(self, name: str) -> Target:
        """The model with its batches, on the CPU; equal weights and inputs every time.

        Raises:
            InputError: a name that is not one of `names()`.
        """
        ...


model_providers: Registry[ModelProvider] = Registry("model provider", entry_point_group="recplan.model_providers")
