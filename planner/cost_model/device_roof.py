"""What a device reaches at best."""

from dataclasses import dataclass

import numpy as np

from planner.cost_model.estimates import Floats
from profiles.errors import InputError
from profiles.units import MS_PER_S

__all__ = ["DeviceRoof"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceRoof:
    """Rates that the device reaches at best, and what a launched kernel costs."""

    flops_per_s: float
    bytes_per_s: float
    launch_ms: float

    def __post_init__(self) -> None:
        if not (self.flops_per_s > 0 and self.bytes_per_s > 0 and self.launch_ms >= 0):
            raise InputError(f"device roof: rates must be > 0 and launch_ms >= 0, but got {self}")

    def busy_ms(self, flops_N: Floats, bytes_N: Floats) -> Floats:
        """[N]: the least time that so much work takes."""
        busy_s: Floats = np.maximum(flops_N / self.flops_per_s, bytes_N / self.bytes_per_s)
        return busy_s * MS_PER_S
