"""The edge: user files become frozen dataclasses here, and every complaint names the key."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from profiles.errors import CorruptFileError, InputError

__all__ = ["STRICT", "parse_object", "read_json", "read_toml"]

T = TypeVar("T")
# Set as `__pydantic_config__` of a dataclass that users write: unknown keys are errors.
STRICT = ConfigDict(extra="forbid")
_MOST_COMPLAINTS = 5
_NAMES_KEY = re.compile(r"[a-z_][\w.]*: ")


def parse_object(kind: type[T], body: Any, where: str = "") -> T:
    """`body` (plain dicts and lists) as a `kind`, which may nest dataclasses and unions.

    Raises:
        InputError: unknown keys, missing keys or bad values, each line naming the key's path.
    """
    try:
        return TypeAdapter(kind).validate_python(body)
    except ValidationError as error:
        complaints = [_complaint(part) for part in error.errors()[:_MOST_COMPLAINTS]]
        prefix = f"{where}: " if where else ""
        raise InputError(prefix + "; ".join(complaints)) from None


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a TOML file; errors name the file."""
    try:
        return tomllib.loads(_read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise CorruptFileError(f"{path}: not valid TOML: {error}") from error


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; errors name the file."""
    try:
        body = json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        raise CorruptFileError(f"{path}: not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise CorruptFileError(f"{path}: must hold a JSON object, but holds a {type(body).__name__}")
    return body


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a file") from None
    except UnicodeDecodeError as error:
        raise CorruptFileError(f"{path}: not a text file in UTF-8: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _complaint(part: Any) -> str:
    path = ".".join(str(step) for step in part["loc"])
    kind, message = part["type"], part["msg"]
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"{path}: unknown key"
    if kind in ("missing", "missing_argument"):
        return f"{path}: is missing"
    if kind == "value_error":
        # Our own dataclasses say `key: complaint` of their own keys; the path in front makes it whole.
        message = str(part["ctx"]["error"])
        return f"{path}{'.' if _NAMES_KEY.match(message) else ': '}{message}" if path else message
    text = message.replace("Input should be ", "must be ")
    return f"{path}: {text[0].lower()}{text[1:]}, but got {part['input']!r}"
