"""What the ranks of a comms benchmark are to do, and what they say afterwards."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.distributed.comms.calls import CollectiveCall
from planner.distributed.network import COLLECTIVES, Collective
from profiles.errors import InputError

__all__ = ["CallTime", "CommsJob", "message_sizes"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CommsJob:
    """PARAM's two modes: `fixed` calls one by one, each repeated; then `replay`, a trace passed through as a whole."""

    fixed: tuple[CollectiveCall, ...] = ()
    replay: tuple[CollectiveCall, ...] = ()
    repeats: int = 10

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise InputError(f"repeats: must be >= 1, but got {self.repeats}")
        if not self.fixed and not self.replay:
            raise InputError("comms: must have sizes to measure or a trace to replay")

    def to_object(self) -> dict[str, object]:
        """As plain data, which `from_object` reads."""
        return {"fixed": _rows(self.fixed), "replay": _rows(self.replay), "repeats": self.repeats}

    @classmethod
    def from_object(cls, body: Mapping[str, Any]) -> "CommsJob":
        """From plain data, as `to_object` gives it."""
        return cls(fixed=_calls(body["fixed"]), replay=_calls(body["replay"]), repeats=body["repeats"])


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTime:
    """What a call took: per repeat that of the slowest rank; the quartiles and the median over repeats.

    `message_bytes` is what was really sent: sizes that do not divide over the ranks are rounded up.
    """

    collective: Collective
    message_bytes: int
    median_ms: float
    low_ms: float
    high_ms: float

    def __post_init__(self) -> None:
        CollectiveCall(collective=self.collective, message_bytes=self.message_bytes)
        if not 0 < self.low_ms <= self.median_ms <= self.high_ms < math.inf:
            raise InputError(
                f"{self.collective} of {self.message_bytes} bytes: quartiles and median must be finite and in order, "
                f"but got {self.low_ms}, {self.median_ms}, {self.high_ms} ms"
            )

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """The algorithm's bandwidth: message over time."""
        return self.message_bytes / self.median_ms * 1e3


def message_sizes(
    least_bytes: int = 1024,
    most_bytes: int = 16 * 2**20,
    factor: int = 4,
    collectives: Sequence[Collective] = COLLECTIVES,
) -> tuple[CollectiveCall, ...]:
    """Every collective at sizes from the least to the most, each `factor` times the one before.

    Raises:
        InputError: sizes out of order, or a factor below 2.
    """
    if not 1 <= least_bytes <= most_bytes:
        raise InputError(f"sizes: must be 1 <= least <= most, but got {least_bytes} and {most_bytes}")
    if factor < 2:
        raise InputError(f"factor: must be >= 2, but got {factor}")
    sizes = [least_bytes]
    while sizes[-1] * factor <= most_bytes:
        sizes.append(sizes[-1] * factor)
    return tuple(CollectiveCall(collective=name, message_bytes=size) for name in collectives for size in sizes)


def _rows(calls: Sequence[CollectiveCall]) -> list[list[object]]:
    return [[call.collective, call.message_bytes] for call in calls]


def _calls(rows: Sequence[Sequence[Any]]) -> tuple[CollectiveCall, ...]:
    return tuple(CollectiveCall(collective=row[0], message_bytes=row[1]) for row in rows)
