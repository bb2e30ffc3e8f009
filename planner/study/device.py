"""`[[devices]]`: where the model may run."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

from profiles.edge import STRICT
from profiles.errors import InputError
from profiles.hardware import LOCAL_CPU, Hardware, get_hardware
from profiles.units import parse_bytes

__all__ = ["DeviceSection"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceSection:
    """A device of the study: `kind` is a catalogue name, or `local-cpu` for this machine.

    `memory` is the budget for parameters (all of the device's memory by default); `servers` queries are served at a
    time; `power_w` overrides the catalogue's.
    """

    __pydantic_config__: ClassVar = STRICT
    name: str
    kind: str = LOCAL_CPU
    memory: str | int | None = None
    servers: int = 1
    price_per_hour: float | None = None
    power_w: float | None = None
    hardware: Hardware = field(init=False, repr=False, compare=False)
    memory_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("name: must not be empty")
        hardware = get_hardware(self.kind)
        object.__setattr__(self, "hardware", hardware)
        memory = hardware.memory_bytes if self.memory is None else _memory(self.memory)
        if memory > hardware.memory_bytes:
            raise InputError(f"memory: {self.memory!r} is more than {self.kind} has ({hardware.memory_bytes:,} bytes)")
        object.__setattr__(self, "memory_bytes", memory)
        if self.servers < 1:
            raise InputError(f"servers: must be >= 1, but got {self.servers}")
        for name in ("price_per_hour", "power_w"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise InputError(f"{name}: must be finite and >= 0, but got {value}")


def _memory(amount: str | int) -> int:
    try:
        memory = parse_bytes(amount)
    except InputError as error:
        raise InputError(f"memory: {error}") from None
    if memory == 0:
        raise InputError("memory: must be > 0 bytes")
    return memory
