"""The row of the profile store: one component, shape, device and mode, with where its numbers come from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from profiles.errors import InputError

__all__ = ["LATENCY_FIELDS", "SCHEMA", "ComponentProfile", "Fingerprint", "Latency", "Provenance"]

SCHEMA = "recplan.profile/1"
Provenance = Literal["measured", "aggregated", "estimated", "skipped"]
LATENCY_FIELDS = ("in_situ", "warm", "cold")


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """A latency that is never a bare number: quartile, median and spread over separate visits.

    `wall_over_cpu` is wall time over CPU time of one thread's work; well above 1 it tells of contention.
    """

    p25_ms: float
    median_ms: float
    iqr_ms: float
    n: int
    visits: int
    cpu_ms: float | None = None
    wall_over_cpu: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fingerprint:
    """What must be equal for two measurements to be comparable, and when the measurement was made."""

    device: str
    processor: str
    threads: int
    python: str
    libraries: tuple[tuple[str, str], ...] = ()
    driver: str = ""
    git_revision: str = ""
    timestamp: str = ""

    def device_key(self) -> str:
        """The part that decides whether a stored measurement may be reused: all but revision and time.

        recplan's own version stands still between releases, so a change of a component's code alone reuses old rows:
        give it a new kind or shape, or sweep into an empty store.
        """
        versions = ",".join(f"{name}={version}" for name, version in self.libraries)
        return "|".join((self.device, self.processor, str(self.threads), self.python, versions, self.driver))


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentProfile:
    """One measured (or aggregated, estimated, skipped) component.

    `mfu` and `bandwidth_share` are shares of the device's dense peaks, None where no peak is known or none applies.
    `peak_memory_bytes` of an aggregated row is a lower bound. `figures` are what further profilers found, by name.
    """

    path: str
    class_name: str
    kind: str
    spec: str
    content_hash: str
    device: str
    batch: int
    dtype: str
    fingerprint: Fingerprint
    provenance: Provenance
    reason: str = ""
    phase: str = "forward"
    preprocessors: tuple[str, ...] = ()
    calls: int = 1
    depth: int = 0
    in_situ: Latency | None = None
    warm: Latency | None = None
    cold: Latency | None = None
    flops: float | None = None
    bytes_moved: float | None = None
    parameter_bytes: int | None = None
    peak_memory_bytes: int | None = None
    mfu: float | None = None
    bandwidth_share: float | None = None
    artefacts: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, float | None] = field(default_factory=dict)

    def to_row(self) -> dict[str, Any]:
        """A JSON-ready object with nested latencies and fingerprint, carrying the schema."""
        return {"schema": SCHEMA, **asdict(self), "artefacts": dict(self.artefacts), "figures": dict(self.figures)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "ComponentProfile":
        """The profile that `to_row` wrote.

        Raises:
            InputError: another schema, a missing or an unknown key.
        """
        body = dict(row)
        schema = body.pop("schema", None)
        if schema != SCHEMA:
            raise InputError(f"schema: must be {SCHEMA!r}, but got {schema!r}")
        try:
            body["fingerprint"] = _fingerprint(body["fingerprint"])
            body["preprocessors"] = tuple(body["preprocessors"])
            for name in LATENCY_FIELDS:
                body[name] = Latency(**body[name]) if body.get(name) is not None else None
            return cls(**body)
        except (KeyError, TypeError) as error:
            raise InputError(f"profile row: {error}") from error

    def to_flat(self) -> dict[str, Any]:
        """One flat dict per row for a frame: `warm_p25_ms`, `fingerprint_threads`, ..."""
        flat: dict[str, Any] = {}
        for key, value in self.to_row().items():
            if key in LATENCY_FIELDS:
                names = [f.name for f in fields(Latency)]
                flat |= {f"{key}_{name}": (value or {}).get(name) for name in names}
            elif key == "fingerprint":
                flat |= {f"fingerprint_{name}": part for name, part in value.items()}
            else:
                flat[key] = value
        flat["preprocessors"] = "+".join(self.preprocessors)
        return flat

    @classmethod
    def from_flat(cls, flat: Mapping[str, Any]) -> "ComponentProfile":
        """The profile that `to_flat` flattened; an `InputError` names what is wrong."""
        row = dict(flat)
        for name in LATENCY_FIELDS:
            parts = {f.name: row.pop(f"{name}_{f.name}", None) for f in fields(Latency)}
            row[name] = None if parts["n"] is None else parts
        row["fingerprint"] = {f.name: row.pop(f"fingerprint_{f.name}", None) for f in fields(Fingerprint)}
        row["preprocessors"] = [name for name in str(row.get("preprocessors") or "").split("+") if name]
        return cls.from_row(row)

    def skipped(self, reason: str) -> "ComponentProfile":
        """The same row, marked as not measured, with why."""
        return replace(self, provenance="skipped", reason=reason)


def _fingerprint(row: Mapping[str, Any]) -> Fingerprint:
    libraries = tuple((str(name), str(version)) for name, version in row["libraries"])
    return Fingerprint(**{**row, "libraries": libraries})
