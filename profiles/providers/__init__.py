"""Where modules come from: components of a domain, or a PyTorch target that the user names."""

from profiles.providers.built_in import BuiltInModels
from profiles.providers.lookup import check_target, find_target, target_names
from profiles.providers.models import ModelProvider, model_providers
from profiles.providers.protocol import BuiltComponent, ComponentProvider
from profiles.providers.target import InputBatch, Target, load_target

__all__ = [
    "BuiltComponent",
    "BuiltInModels",
    "ComponentProvider",
    "InputBatch",
    "ModelProvider",
    "Target",
    "check_target",
    "find_target",
    "load_target",
    "model_providers",
    "target_names",
]
