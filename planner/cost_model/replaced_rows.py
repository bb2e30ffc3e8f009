"""What a store says of a component twice, and not alike: its newest row counts, and the reader is told."""

from collections.abc import Iterable

from profiles.records import ComponentProfile

__all__ = ["replaced_notes"]

_CONTRADICTION = 1.1


def replaced_notes(history: Iterable[ComponentProfile], device: str) -> tuple[str, ...]:
    """A note where rows of one component under one set-up of the device are more than 10 % apart."""
    labels: dict[str, list[float]] = {}
    for row in history:
        if row.device == device and row.provenance == "measured" and row.warm and row.warm.p25_ms > 0:
            labels.setdefault(row.content_hash, []).append(row.warm.p25_ms)
    ratios = [max(own) / min(own) for own in labels.values()]
    apart = [ratio for ratio in ratios if ratio > _CONTRADICTION]
    if not apart:
        return ()
    far = f"more than 10 % apart (up to a factor of {max(apart):.2f})"
    return (f"{len(apart)} components stand in the store with latencies {far}; the newest counts",)
