"""A module as it is profiled alone: prepared, with the calls to replay."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import nn

    from profiles.walk.capture import CapturedCall

__all__ = ["Phase", "Subject"]

Phase = Literal["forward", "backward"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """`module` may be a prepared version (compiled, cast) of `original`, which is the one in the model's tree.

    `calls` are the distinct calls of one pass of the model over its batches; figures of a pass are their sum, each
    weighted by its `count`. The model itself is the subject whose `path` is empty. `figures` and `notes` are what
    preparing it found; they go to the module's row as those of a profiler do.
    """

    path: str
    module: "nn.Module"
    original: "nn.Module"
    calls: "tuple[CapturedCall, ...]"
    torch_name: str = "cpu"
    phase: Phase = "forward"
    figures: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_model(self) -> bool:
        """Whether this is the whole model."""
        return not self.path

    def context(self, call: "CapturedCall") -> AbstractContextManager[object]:
        """What was in force when the call was captured: gradient and inference mode, autocast."""
        return call.context()

    def run(self, call: "CapturedCall") -> Any:
        """One forward call on the captured inputs, in whatever context the caller has entered; returns the output."""
        return call.run(self.module)
