"""Models that come with the profiler, to try it on."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from profiles.models.nanogpt import NanoGpt, NanoGptConfig, build_nanogpt

__all__ = ["NanoGpt", "NanoGptConfig", "build_nanogpt"]

__getattr__ = lazy_attributes(__name__, dict.fromkeys(__all__, "profiles.models.nanogpt"))
