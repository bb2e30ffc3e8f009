"""Rows of a profile store, as if measured."""

from profiles.component import Component
from profiles.records import ComponentProfile, Fingerprint, Latency

__all__ = ["profile"]


def profile(component: Component, ms: float, timestamp: str = "1", device: str = "gpu") -> ComponentProfile:
    latency = Latency(p25_ms=ms, median_ms=ms, iqr_ms=0.0, n=3, visits=3)
    return ComponentProfile(
        path="",
        class_name="",
        kind=component.kind,
        spec=component.spec(),
        content_hash=component.content_hash(device),
        device=device,
        batch=component.batch,
        dtype="float32",
        fingerprint=Fingerprint(device=device, processor="", threads=1, python="3", timestamp=timestamp),
        provenance="measured",
        phase=component.phase,
        warm=latency,
    )
