"""The least time that work takes on a device: that of its arithmetic or of its traffic (Williams et al., 2009)."""

from collections.abc import Iterable
from dataclasses import dataclass

from profiles.errors import InputError
from profiles.hardware import catalogue
from profiles.records import ComponentProfile
from profiles.units import MS_PER_S

__all__ = ["Roofline", "achieved_roofline", "published_roofline"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Roofline:
    """Peak arithmetic and memory bandwidth; `source` says where they come from."""

    flops_per_s: float
    bytes_per_s: float
    source: str = ""

    def __post_init__(self) -> None:
        for name, value in (("flops_per_s", self.flops_per_s), ("bytes_per_s", self.bytes_per_s)):
            if not value > 0:
                raise InputError(f"roofline: {name} must be > 0, but got {value}")

    def attainable_ms(self, flops: float | None, bytes_moved: float | None) -> float | None:
        """The least time for so much work; None where none of it is known. What is not known counts as nothing."""
        if flops is None and bytes_moved is None:
            return None
        return MS_PER_S * max((flops or 0.0) / self.flops_per_s, (bytes_moved or 0.0) / self.bytes_per_s)


def published_roofline(device: str, dtype: str) -> Roofline | None:
    """By the catalogue's dense peak for the dtype and its bandwidth; None where it has no such figures."""
    hardware = catalogue().get(device)
    peak = hardware.peak(dtype) if hardware else None
    if hardware is None or not (peak and hardware.bandwidth_bytes_per_s):
        return None
    return Roofline(flops_per_s=peak, bytes_per_s=hardware.bandwidth_bytes_per_s, source=hardware.source)


def achieved_roofline(rows: Iterable[ComponentProfile]) -> Roofline:
    """The best that any module of the profile achieved alone and warm: a lower bound of what the device can do.

    Raises:
        InputError: no module has both a latency and FLOPs, or both a latency and bytes.
    """
    timed = [(row, row.warm.median_ms) for row in rows if row.warm and row.warm.median_ms > 0]
    flops = max((MS_PER_S * (row.flops or 0.0) / latency_ms for row, latency_ms in timed), default=0.0)
    moved = max((MS_PER_S * (row.bytes_moved or 0.0) / latency_ms for row, latency_ms in timed), default=0.0)
    if not (flops and moved):
        raise InputError("roofline: no module of the profile has a latency with FLOPs, or one with bytes")
    return Roofline(flops_per_s=flops, bytes_per_s=moved, source="the best that a module of the profile achieved")
