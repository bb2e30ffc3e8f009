"""Parts of a profile in a file of JSON lines, so that what was measured outlives the process that measured it."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from profiles.errors import CorruptFileError, InputError
from profiles.kernel_time import KernelTime
from profiles.model_profile import CallProfile
from profiles.parts import append_line, read_lines, write_lines
from profiles.preprocessors.protocol import Preprocessor
from profiles.profile_options import ProfileOptions
from profiles.profilers.protocol import Figure, Profiler
from profiles.records import ComponentProfile, Latency
from profiles.walk.module_part import ModulePart, ProfilePart

__all__ = ["PARTS_FILE", "PART_SCHEMA", "PartFile", "part_file", "request_key"]

PARTS_FILE = "parts.jsonl"
PART_SCHEMA = "recplan.profile-part/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class PartFile:
    """The parts at `path` that answer one request (`key`); others that lie there are left alone.

    `model` tells what was measured (`profiles.walk.model_identity`): a request names a target, which may have changed
    since.
    """

    path: Path
    key: str

    def append(self, part: ProfilePart, model: str) -> None:
        """Add a part of that model; it is on the disk when this returns.

        Raises:
            StorageError: the disk is full or the file is not writable; earlier parts stay valid.
        """
        append_line(self.path, {"schema": PART_SCHEMA, "key": self.key, "model": model, **_to_row(part)})

    def parts(self, device_keys: frozenset[str], model: str) -> list[ProfilePart]:
        """The parts of that model measured in one of these environments (`Fingerprint.device_key`), the oldest first.

        Raises:
            CorruptFileError: a bad line other than a torn last one; names the place.
        """
        found = []
        for number, row in self._lines():
            try:
                part = _from_row(row) if (row.get("key"), row.get("model")) == (self.key, model) else None
            except (InputError, KeyError, TypeError) as error:
                raise CorruptFileError(f"{self.path}:{number}: {error}") from error
            if part and all(module.row.fingerprint.device_key() in device_keys for module in part.modules):
                found.append(part)
        return found

    def clear(self) -> None:
        """Remove the request's parts, of whatever model; the file goes with its last part.

        Raises:
            CorruptFileError: as of `parts`.
            StorageError: the disk is full or the folder is not writable; the file stays as it was.
        """
        others = [row for _, row in self._lines() if row.get("key") != self.key]
        if others:
            write_lines(self.path, others)
        else:
            self.path.unlink(missing_ok=True)

    def _lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return read_lines(self.path) if self.path.exists() else iter(())


def part_file(
    name: str, options: ProfileOptions, preprocessors: Sequence[Preprocessor], profilers: Sequence[Profiler]
) -> PartFile | None:
    """Where the parts of that request are, in the folder of the options; None where there is no folder."""
    if options.folder is None:
        return None
    return PartFile(path=options.folder / PARTS_FILE, key=request_key(name, options, preprocessors, profilers))


def request_key(
    name: str, options: ProfileOptions, preprocessors: Sequence[Preprocessor], profilers: Sequence[Profiler]
) -> str:
    """The same for equal requests: target, options but for the folder, and what is applied with its own options."""
    wanted = (
        name,
        replace(options, folder=None),
        tuple(map(_plug_in_text, preprocessors)),
        tuple(map(_plug_in_text, profilers)),
    )
    return hashlib.sha256(repr(wanted).encode()).hexdigest()[:24]


def _plug_in_text(plug_in: Preprocessor | Profiler) -> str:
    """Its class, name and options: whatever it holds that is plain, but for the folder."""
    held = {**getattr(plug_in, "__dict__", {}), "name": plug_in.name}
    options = {key: value for key, value in held.items() if key != "folder" and _is_plain(value)}
    return f"{type(plug_in).__module__}.{type(plug_in).__qualname__} {sorted(options.items())!r}"


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float)


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
