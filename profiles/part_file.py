"""Parts of a profile in a file of JSON lines, so that what was measured outlives the process that measured it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from profiles.errors import CorruptFileError, InputError
from profiles.kernel_time import KernelTime
from profiles.model_profile import CallProfile
from profiles.module_part import ModulePart, ProfilePart
from profiles.parts import append_line, read_lines
from profiles.preprocessors.protocol import Preprocessor
from profiles.profile_options import ProfileOptions
from profiles.profilers.protocol import Figure, Profiler
from profiles.records import ComponentProfile, Latency

__all__ = ["PART_SCHEMA", "PartFile", "request_key"]

PART_SCHEMA = "recplan.profile-part/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class PartFile:
    """The parts at `path` that answer one request (`key`); others that lie there are left alone."""

    path: Path
    key: str

    def append(self, part: ProfilePart) -> None:
        """Add a part; it is on the disk when this returns.

        Raises:
            StorageError: the disk is full or the file is not writable; earlier parts stay valid.
        """
        append_line(self.path, {"schema": PART_SCHEMA, "key": self.key, **_to_row(part)})

    def parts(self, device_keys: frozenset[str]) -> list[ProfilePart]:
        """The parts measured in one of these environments (`Fingerprint.device_key`), the oldest first.

        Raises:
            CorruptFileError: a bad line other than a torn last one; names the place.
        """
        if not self.path.exists():
            return []
        found = []
        for number, row in read_lines(self.path):
            try:
                part = _from_row(row) if row.get("key") == self.key else None
            except (InputError, KeyError, TypeError) as error:
                raise CorruptFileError(f"{self.path}:{number}: {error}") from error
            if part and all(module.row.fingerprint.device_key() in device_keys for module in part.modules):
                found.append(part)
        return found


def request_key(
    name: str, options: ProfileOptions, preprocessors: Sequence[Preprocessor], profilers: Sequence[Profiler]
) -> str:
    """The same for equal requests: target, options but for the folder, and the names of what is applied."""
    wanted = (
        name,
        replace(options, folder=None),
        tuple(one.name for one in preprocessors),
        tuple(one.name for one in profilers),
    )
    return hashlib.sha256(repr(wanted).encode()).hexdigest()[:24]


def _to_row(part: ProfilePart) -> dict[str, Any]:
    return {
        "name": part.name,
        "modules": [_module_row(module) for module in part.modules],
        "profile_seconds": part.profile_seconds,
        "figures": [asdict(figure) for figure in part.figures],
        "costs": dict(part.costs),
        "notes": list(part.notes),
    }


def _module_row(module: ModulePart) -> dict[str, Any]:
    return {
        "index": module.index,
        "parent": module.parent,
        "row": module.row.to_row(),
        "own": module.own.to_row() if module.own else None,
        "is_aggregated": module.is_aggregated,
        "calls": [asdict(call) for call in module.calls],
        "kernels": [asdict(kernel) for kernel in module.kernels],
    }


def _from_row(row: Mapping[str, Any]) -> ProfilePart:
    if row.get("schema") != PART_SCHEMA:
        raise InputError(f"schema: must be {PART_SCHEMA!r}, but got {row.get('schema')!r}")
    return ProfilePart(
        name=row["name"],
        modules=tuple(map(_module, row["modules"])),
        profile_seconds=row["profile_seconds"],
        figures=tuple(Figure(**figure) for figure in row["figures"]),
        costs=row["costs"],
        notes=tuple(row["notes"]),
    )


def _module(body: Mapping[str, Any]) -> ModulePart:
    own = body["own"]
    return ModulePart(
        index=body["index"],
        parent=body["parent"],
        row=ComponentProfile.from_row(body["row"]),
        own=ComponentProfile.from_row(own) if own is not None else None,
        is_aggregated=body["is_aggregated"],
        calls=tuple(map(_call, body["calls"])),
        kernels=tuple(KernelTime(**kernel) for kernel in body["kernels"]),
    )


def _call(body: Mapping[str, Any]) -> CallProfile:
    latencies = {name: Latency(**body[name]) if body[name] is not None else None for name in ("warm", "cold")}
    return CallProfile(**{**body, **latencies})
