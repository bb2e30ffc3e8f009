"""Time by kernel under each module."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["KernelTime"]


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelTime:
    """A kernel (on a CPU an operator, without what it calls) under the innermost module that ran it, per pass.

    `path` is that module's; None where no module was running. `milliseconds` is time on the device; `uses_tensor_cores`
    is None where it cannot be told. Of a backward pass it is the module whose forward pass is derived.
    """

    path: str | None
    kernel: str
    device: str
    calls: float
    milliseconds: float
    uses_tensor_cores: bool | None = None
    phase: Literal["forward", "backward"] = "forward"
