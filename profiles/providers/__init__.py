"""Where modules come from: components of a domain, or a PyTorch target that the user names."""

from profiles.providers.protocol import BuiltComponent, ComponentProvider
from profiles.providers.target import Target, load_target

__all__ = ["BuiltComponent", "ComponentProvider", "Target", "load_target"]
