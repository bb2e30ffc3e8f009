"""The walk over a model: capture what its modules are called with, run each alone, time it, and add up."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from profiles.walk.merging import merge_parts
    from profiles.walk.walk import Walk, profile_model, profile_target, walking

__all__ = ["Walk", "merge_parts", "profile_model", "profile_target", "walking"]

# These load torch.
__getattr__ = lazy_attributes(
    __name__,
    {
        "Walk": "profiles.walk.walk",
        "merge_parts": "profiles.walk.merging",
        "profile_model": "profiles.walk.walk",
        "profile_target": "profiles.walk.walk",
        "walking": "profiles.walk.walk",
    },
)
