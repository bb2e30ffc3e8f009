"""The report's inputs as one JSON file, from which the page can be made again."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from planner.report.inputs import ReportInputs
from profiles.edge import parse_object, read_json
from profiles.errors import CorruptFileError, InputError
from profiles.files import make_folder, replace_file
from profiles.records import ComponentProfile

__all__ = ["FILE_NAME", "SCHEMA", "inputs_from_object", "inputs_to_object", "load_inputs", "save_inputs"]

SCHEMA = "recplan.report/1"
FILE_NAME = "report.json"


def save_inputs(inputs: ReportInputs, folder: Path) -> Path:
    """Write `report.json` into the folder.

    Raises:
        StorageError: it cannot be written; a file that was there stays whole.
    """
    text = json.dumps(inputs_to_object(inputs), indent=1, allow_nan=False, ensure_ascii=False)
    return replace_file(make_folder(folder) / FILE_NAME, text + "\n")


def load_inputs(folder: Path) -> ReportInputs:
    """The inputs that `save_inputs` wrote into the folder.

    Raises:
        InputError: no such file, or its content does not fit; the message names the file and the key.
    """
    path = folder / FILE_NAME
    return inputs_from_object(read_json(path), str(path))


def inputs_to_object(inputs: ReportInputs) -> dict[str, Any]:
    """The JSON form, with its schema; figures that are not finite become null."""
    body = asdict(replace(inputs, profile=None))
    if inputs.profile is not None:
        body["profile"] = [profile.to_row() for profile in inputs.profile]
    plain: dict[str, Any] = _plain({"schema": SCHEMA, **body})
    return plain


def inputs_from_object(body: Mapping[str, Any], where: str = "report") -> ReportInputs:
    """The inputs in a JSON object; every complaint names the key."""
    fields = dict(body)
    schema = fields.pop("schema", None)
    if schema != SCHEMA:
        raise CorruptFileError(f"{where}: schema: must be {SCHEMA!r}, but got {schema!r}")
    rows = fields.pop("profile", None)
    inputs = parse_object(ReportInputs, fields, where)
    if rows is None:
        return inputs
    try:
        return replace(inputs, profile=tuple(ComponentProfile.from_row(row) for row in rows))
    except (InputError, TypeError) as error:
        raise CorruptFileError(f"{where}: profile: {error}") from error


def _plain(value: Any) -> Any:
    """Mappings, lists and numbers as JSON knows them: NumPy scalars unwrapped, paths as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return _plain(value.tolist()) if hasattr(value, "tolist") else str(value)
