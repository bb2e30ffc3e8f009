"""Where modules come from: components of a domain, or a PyTorch target that the user names."""

from profiles.providers.models import ModelProvider, model_providers
from profiles.providers.protocol import BuiltComponent, ComponentProvider
from profiles.providers.target import InputBatch, Target, load_target

__all__ = [
    "BuiltComponent",
    "ComponentProvider",
    "InputBatch",
    "ModelProvider",
    "Target",
    "load_target",
    "model_providers",
]
