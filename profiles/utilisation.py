"""Shares of a device's published peaks."""

from profiles.hardware import catalogue
from profiles.units import MS_PER_S

__all__ = ["bandwidth_share", "model_flops_share"]


def model_flops_share(flops: float | None, latency_ms: float, device: str, dtype: str) -> float | None:
    """MFU: FLOP/s over the device's dense peak for the dtype; None where there is no peak, or there are no FLOPs.

    What has none by nature, a table lookup say, makes no bad use of arithmetic: MFU does not apply to it.
    """
    hardware = catalogue().get(device)
    peak = hardware.peak(dtype) if hardware else None
    if not (peak and flops and latency_ms > 0):
        return None
    return flops * MS_PER_S / latency_ms / peak


def bandwidth_share(bytes_moved: float | None, latency_ms: float, device: str) -> float | None:
    """Bytes per second over the device's memory bandwidth, or None where either is not known."""
    hardware = catalogue().get(device)
    peak = hardware.bandwidth_bytes_per_s if hardware else 0.0
    if not (peak and bytes_moved is not None and latency_ms > 0):
        return None
    return bytes_moved * MS_PER_S / latency_ms / peak
