"""Where measurements run: in this process, or on workers of a Ray cluster."""

from typing import TYPE_CHECKING

from profiles.executors.protocol import Executor
from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from profiles.executors.in_process import InProcessExecutor
    from profiles.executors.ray import RayExecutor

__all__ = ["Executor", "InProcessExecutor", "RayExecutor"]

__getattr__ = lazy_attributes(
    __name__,
    {"InProcessExecutor": "profiles.executors.in_process", "RayExecutor": "profiles.executors.ray"},
)
