"""A new device beside a known one: where it is slower than the ratio of their rooflines lets expect.

A module that takes the known device several times its roofline is let take the new one as many times its own: what is
expected is the known latency times the ratio of what the two could attain.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from profiles.analyses.matching import match_modules
from profiles.analyses.roofline import Roofline, published_roofline
from profiles.errors import InputError
from profiles.records import ComponentProfile

__all__ = ["DeviceComparison", "compare_devices"]

Rows = Sequence[ComponentProfile]


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceComparison:
    """A module that holds no other on both devices, alone and warm; `expected_ms` is None where no work is known."""

    path: str
    class_name: str
    known_ms: float
    new_ms: float
    expected_ms: float | None

    @property
    def ratio(self) -> float:
        """Time on the new device over that on the known one."""
        return self.new_ms / self.known_ms

    @property
    def expected_ratio(self) -> float | None:
        """The ratio that the rooflines predict."""
        return None if self.expected_ms is None else self.expected_ms / self.known_ms

    @property
    def excess_ms(self) -> float | None:
        """Time that the new device loses against what is expected; negative where it does better."""
        return None if self.expected_ms is None else self.new_ms - self.expected_ms


def compare_devices(
    known: Rows, new: Rows, *, known_roofline: Roofline | None = None, new_roofline: Roofline | None = None
) -> tuple[DeviceComparison, ...]:
    """The modules that hold no others and were measured on both, the greatest excess first, then those without one.

    Rooflines that are not given are those of the rows' devices and dtypes in the catalogue.

    Raises:
        InputError: no module was measured on both, or a device has no roofline.
    """
    found = []
    for match in match_modules(known, new):
        before, after = match.before, match.after
        if before is None or after is None or before.kind != "leaf" or after.kind != "leaf":
            continue
        if before.warm and after.warm and before.warm.median_ms > 0 and after.phase == "forward":
            attainable = [_attainable_ms(before, known_roofline), _attainable_ms(after, new_roofline)]
            known_ms, new_ms = before.warm.median_ms, after.warm.median_ms
            ratio = attainable[1] / attainable[0] if attainable[0] and attainable[1] else None
            found.append(
                DeviceComparison(
                    path=after.path,
                    class_name=after.class_name,
                    known_ms=known_ms,
                    new_ms=new_ms,
                    expected_ms=None if ratio is None else known_ms * ratio,
                )
            )
    if not found:
        raise InputError("bring-up: no module was measured in both profiles")
    return tuple(sorted(found, key=lambda one: (one.excess_ms is None, -(one.excess_ms or 0.0))))


def _attainable_ms(row: ComponentProfile, roofline: Roofline | None) -> float | None:
    chosen = roofline or published_roofline(row.device, row.dtype)
    if chosen is None:
        raise InputError(f"bring-up: no peaks of {row.device} are known for {row.dtype}; give its roofline")
    return chosen.attainable_ms(row.flops, row.bytes_moved)
