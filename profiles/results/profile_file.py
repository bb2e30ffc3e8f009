"""A profile as one JSON file: all of it, written and read with the standard library alone."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from profiles.errors import CorruptFileError, InputError
from profiles.files import make_folder, replace_file
from profiles.kernel_time import KernelTime
from profiles.model_profile import CallProfile, ModelProfile
from profiles.profilers.protocol import Figure
from profiles.records import ComponentProfile, Latency

__all__ = ["PROFILE_FILE", "PROFILE_SCHEMA", "JsonWriter", "load_profile", "save_profile"]

PROFILE_FILE = "profile.json"
PROFILE_SCHEMA = "recplan.model-profile/1"
_CALL_LATENCIES = ("warm", "cold")

T = TypeVar("T")


def save_profile(profile: ModelProfile, folder: Path) -> Path:
    """Write `profile.json` into the folder, which is made where it is not there, and return the file's path.

    JSON has no infinity: a figure that is not finite is written as unknown, and the file's notes name it.

    Raises:
        StorageError: the disk is full or the folder is not writable; a file that was there stays.
    """
    body = json.dumps(_to_body(_finite(profile)), allow_nan=False, ensure_ascii=False)
    return replace_file(make_folder(folder) / PROFILE_FILE, body + "\n")


class JsonWriter:
    """Writes `profile.json`, which `load_profile` reads back."""

    name = "json"

    def write(self, profile: ModelProfile, folder: Path) -> Path:
        """Write and return the file; errors as of `save_profile`."""
        return save_profile(profile, folder)


def load_profile(path: Path) -> ModelProfile:
    """The profile that `save_profile` wrote; `path` is the file, or the folder that holds it.

    Raises:
        InputError: no such file or folder, or a folder without a profile.
        CorruptFileError: not JSON (a truncated file, say), another schema, or a value that is missing or wrong.
    """
    file = path / PROFILE_FILE if path.is_dir() else path
    body = _read(file)
    schema = body.get("schema")
    if schema != PROFILE_SCHEMA:
        raise CorruptFileError(f"{file}: schema: must be {PROFILE_SCHEMA!r}, but got {schema!r}")
    try:
        return _from_body(body)
    except KeyError as error:
        raise CorruptFileError(f"{file}: {error.args[0]}: is missing") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise CorruptFileError(f"{file}: {error}") from error


def _read(file: Path) -> dict[str, Any]:
    try:
        body = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{file}: no such file; a profile is written by `recplan profile TARGET --out DIR`") from None
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{file}: not a whole JSON file: {error}") from error
    if not isinstance(body, dict):
        raise CorruptFileError(f"{file}: must hold one JSON object, but got a {type(body).__name__}")
    return body


def _to_body(profile: ModelProfile) -> dict[str, Any]:
    return {
        "schema": PROFILE_SCHEMA,
        "name": profile.name,
        "profile_seconds": profile.profile_seconds,
        "notes": list(profile.notes),
        "costs": dict(profile.costs),
        "figures": [asdict(figure) for figure in profile.figures],
        "rows": [row.to_row() for row in profile.rows],
        "calls": [asdict(call) for call in profile.calls],
        "kernels": [asdict(kernel) for kernel in profile.kernels],
    }


def _from_body(body: Mapping[str, Any]) -> ModelProfile:
    rows = _each(body, "rows", ComponentProfile.from_row)
    if not rows:
        raise InputError("rows: must hold the model's row at least, but is empty")
    return ModelProfile(
        rows=rows,
        profile_seconds=float(body["profile_seconds"]),
        name=str(body["name"]),
        calls=_each(body, "calls", _call),
        kernels=_each(body, "kernels", lambda kernel: KernelTime(**kernel)),
        figures=_each(body, "figures", lambda figure: Figure(**figure)),
        costs=dict(body["costs"]),
        notes=tuple(body["notes"]),
    )


def _each(body: Mapping[str, Any], key: str, parse: Callable[[Any], T]) -> tuple[T, ...]:
    """The list under that key, each part parsed; a complaint names the part's place."""
    parsed: list[T] = []
    for index, part in enumerate(body[key]):
        try:
            parsed.append(parse(part))
        except (AttributeError, TypeError, ValueError) as error:
            raise InputError(f"{key}[{index}]: {error}") from error
    return tuple(parsed)


def _call(body: Mapping[str, Any]) -> CallProfile:
    latencies = {name: Latency(**body[name]) if body.get(name) is not None else None for name in _CALL_LATENCIES}
    return CallProfile(**{**body, **latencies})


def _finite(profile: ModelProfile) -> ModelProfile:
    """The profile without figures and costs that are not finite; notes name them."""
    lost: list[str] = []
    rows = tuple(
        replace(row, figures=_finite_only(row.figures, f"{row.path or 'model'}: ", lost)) for row in profile.rows
    )
    costs = {name: value for name, value in _finite_only(profile.costs, "costs: ", lost).items() if value is not None}
    return replace(profile, rows=rows, costs=costs, notes=(*profile.notes, *lost))


def _finite_only(figures: Mapping[str, float | None], where: str, lost: list[str]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, value in figures.items():
        is_lost = value is not None and not math.isfinite(value)
        found[name] = None if is_lost else value
        if is_lost:
            lost.append(f"{where}{name} was {value}, which is written as unknown")
    return found
