"""Profiles of devices that were measured elsewhere and ship with the package: one JSON-lines file per device.

A file lies in `data/measured`, is named after the device and the day it was measured on, and holds rows as the profile
store has them, each with its fingerprint. `ship` writes one from a store.
"""

import json
from collections.abc import Sequence
from importlib.resources import files
from itertools import islice
from pathlib import Path

from profiles.errors import CorruptFileError, InputError
from profiles.files import replace_file
from profiles.records import ComponentProfile, Fingerprint

__all__ = ["SHIPPED_FOLDER", "ship", "shipped_devices", "shipped_profiles", "shipped_setups"]

SHIPPED_FOLDER = Path(str(files("profiles").joinpath("data/measured")))


def shipped_devices(folder: Path = SHIPPED_FOLDER) -> tuple[str, ...]:
    """The devices that there are profiles of, in order of their names."""
    return tuple(sorted({_device_of(path) for path in folder.glob("*.jsonl")}))


def shipped_setups(folder: Path = SHIPPED_FOLDER) -> dict[str, Fingerprint]:
    """The set-up of the newest file of each device, with the time of its first row.

    Raises:
        CorruptFileError: a first line that is no row; names the place.
    """
    newest = {_device_of(path): path for path in sorted(folder.glob("*.jsonl"))}
    return {device: row.fingerprint for device, path in newest.items() for row in _read(path, most=1)}


def shipped_profiles(device: str, folder: Path = SHIPPED_FOLDER) -> tuple[ComponentProfile, ...]:
    """The rows of the newest file of a device; none where none ships.

    Raises:
        CorruptFileError: a line that is no row; names the place.
    """
    paths = sorted(path for path in folder.glob("*.jsonl") if _device_of(path) == device)
    return _read(paths[-1]) if paths else ()


def ship(rows: Sequence[ComponentProfile], folder: Path = SHIPPED_FOLDER) -> Path:
    """Write the measured rows of one set-up as a file of the package, and return its path.

    Raises:
        InputError: no row was measured, or they come from several set-ups.
        StorageError: the file cannot be written.
    """
    measured = [row for row in rows if row.provenance == "measured"]
    keys = {row.fingerprint.device_key() for row in measured}
    if len(keys) != 1:
        raise InputError(f"profiles to ship: must be measured under one set-up, but there are {len(keys)}")
    last = max(row.fingerprint.timestamp for row in measured)
    path = folder / f"{measured[0].device}.{last[:10]}.jsonl"
    lines = (json.dumps(row.to_row(), separators=(",", ":"), sort_keys=True) for row in measured)
    replace_file(path, "".join(f"{line}\n" for line in lines).encode())
    return path


def _device_of(path: Path) -> str:
    return path.name.split(".")[0]


def _read(path: Path, most: int | None = None) -> tuple[ComponentProfile, ...]:
    rows = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(islice(lines, most), start=1):
            try:
                rows.append(ComponentProfile.from_row(json.loads(line)))
            except ValueError as error:
                raise CorruptFileError(f"{path}:{number}: {error}") from error
    return tuple(rows)
