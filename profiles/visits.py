"""Visits: what is measured of a component at one time, stored at once, so that a killed sweep goes on from there."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from profiles.errors import InputError
from profiles.records import ComponentProfile

__all__ = ["VISIT_SCHEMA", "Sample", "Visit", "VisitLog", "rows_of"]

VISIT_SCHEMA = "recplan.visit/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """Times of one call, averaged over a batch."""

    latency_ms: float
    wall_ms: float
    cpu_ms: float

    @property
    def wall_over_cpu(self) -> float:
        """Well above 1 where another process held the core, or the thread waited."""
        return self.wall_ms / self.cpu_ms if self.cpu_ms > 0 else math.inf


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """The samples of one visit of the component and device behind `content_hash`; empty where not taken.

    `is_contended` says that other work held the processor for a share of it, also where its samples were retaken;
    `core_us` is the reading of the core's probe during it (`profiles.core_probe`), where it was read.
    """

    content_hash: str
    timestamp: str
    warm: tuple[Sample, ...] = ()
    cold: tuple[Sample, ...] = ()
    is_contended: bool = False
    core_us: float | None = None

    def judged(self, limit_us: float) -> "Visit":
        """The same visit, contended where the core's reading is above the limit."""
        if self.is_contended or self.core_us is None or self.core_us <= limit_us:
            return self
        return replace(self, is_contended=True)

    def to_row(self) -> dict[str, Any]:
        """A JSON-ready object, carrying the schema; a sample is [latency, wall, CPU] in milliseconds."""
        return {
            "schema": VISIT_SCHEMA,
            "content_hash": self.content_hash,
            "timestamp": self.timestamp,
            "warm": [astuple(sample) for sample in self.warm],
            "cold": [astuple(sample) for sample in self.cold],
            "is_contended": self.is_contended,
            "core_us": self.core_us,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Visit":
        """The visit that `to_row` wrote.

        Raises:
            InputError: another schema, a missing key, or no samples.
        """
        if row.get("schema") != VISIT_SCHEMA:
            raise InputError(f"schema: must be {VISIT_SCHEMA!r}, but got {row.get('schema')!r}")
        try:
            return cls(
                content_hash=str(row["content_hash"]),
                timestamp=str(row["timestamp"]),
                warm=_samples(row["warm"]),
                cold=_samples(row["cold"]),
                # Older parts do not say.
                is_contended=bool(row.get("is_contended", False)),
                core_us=None if row.get("core_us") is None else float(row["core_us"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"visit: {error}") from error


class VisitLog:
    """The visits known of each content hash; `write` is called with every new one before it counts as known."""

    def __init__(self, known: Iterable[Visit] = (), write: Callable[[Visit], None] | None = None) -> None:
        self._visits: dict[str, list[Visit]] = {}
        self._write = write
        for visit in known:
            self._visits.setdefault(visit.content_hash, []).append(visit)

    def add(self, visit: Visit) -> None:
        """Take a visit that was just made."""
        if self._write:
            self._write(visit)
        self._visits.setdefault(visit.content_hash, []).append(visit)

    def of(self, content_hashes: Iterable[str]) -> dict[str, tuple[Visit, ...]]:
        """The visits of those content hashes that have any."""
        return {name: tuple(self._visits[name]) for name in content_hashes if name in self._visits}


def rows_of(measured: Iterable[Visit | ComponentProfile], log: VisitLog) -> Iterator[ComponentProfile]:
    """The rows among what `profiles.measure.measure_group` yields; the visits go into the log."""
    for one in measured:
        if isinstance(one, Visit):
            log.add(one)
        else:
            yield one


def _samples(rows: Sequence[Sequence[float]]) -> tuple[Sample, ...]:
    return tuple(
        Sample(latency_ms=float(latency_ms), wall_ms=float(wall_ms), cpu_ms=float(cpu_ms))
        for latency_ms, wall_ms, cpu_ms in rows
    )
