"""The edge: user files become frozen dataclasses here, and every complaint names the key."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from profiles.errors import CorruptFileError, InputError

__all__ = ["STRICT", "parse_object", "read_json", "read_toml", "shown"]

T = TypeVar("T")
# Set as `__pydantic_config__` of a dataclass that users write: unknown keys are errors.
STRICT = ConfigDict(extra="forbid")
_MOST_COMPLAINTS = 5
_MOST_CHARACTERS = 60
_LONG_WORD = re.compile(rf"[\w.+-]{{{_MOST_CHARACTERS + 1},}}")
_NAMES_KEY = re.compile(r"[a-z_][\w.]*: ")


def parse_object(kind: type[T], body: Any, where: str = "") -> T:
    """`body` (plain dicts and lists) as a `kind`, which may nest dataclasses and unions.

    Raises:
        InputError: unknown keys, missing keys or bad values, each line naming the key's path.
    """
    try:
        parsed = TypeAdapter(kind).validate_python(body)
        complaints = list(_truths_as_numbers(body, parsed, ()))
    except ValidationError as error:
        complaints = [_complaint(part) for part in error.errors()]
    if complaints:
        prefix = f"{where}: " if where else ""
        raise InputError(prefix + "; ".join(complaints[:_MOST_COMPLAINTS])) from None
    return parsed


def shown(value: Any) -> str:
    """The value as a message repeats it: no longer than a reader wants."""
    return _shortened(repr(value))


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a TOML file; errors name the file."""
    table: dict[str, Any] = _parsed(path, "TOML", tomllib.loads)
    return table


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; errors name the file."""
    body = _parsed(path, "JSON", json.loads)
    if not isinstance(body, dict):
        raise CorruptFileError(f"{path}: must hold a JSON object, but holds a {type(body).__name__}")
    return body


def _parsed(path: Path, form: str, parse: Callable[[str], Any]) -> Any:
    text = _read_text(path)
    try:
        return parse(text)
    except RecursionError:
        raise CorruptFileError(f"{path}: not valid {form}: nested too deeply") from None
    except ValueError as error:
        # Also of a number with too many digits to be read.
        raise CorruptFileError(f"{path}: not valid {form}: {error}") from error


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
        message = _LONG_WORD.sub(lambda word: _shortened(word[0]), str(part["ctx"]["error"]))
        return f"{path}{'.' if _NAMES_KEY.match(message) else ': '}{message}" if path else message
    text = message.replace("Input should be ", "must be ")
    return f"{path}: {text[0].lower()}{text[1:]}, but got {shown(part['input'])}"


def _truths_as_numbers(given: Any, parsed: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Complaints about `true` and `false` that became 1 and 0."""
    if isinstance(given, bool):
        if isinstance(parsed, int | float) and not isinstance(parsed, bool):
            yield f"{'.'.join(path)}: must be a number, but got {given}"
    elif isinstance(given, Mapping):
        for key, value in given.items():
            inner = parsed.get(key) if isinstance(parsed, Mapping) else getattr(parsed, str(key), None)
            yield from _truths_as_numbers(value, inner, (*path, str(key)))
    elif isinstance(given, list | tuple) and isinstance(parsed, list | tuple):
        for index, (value, inner) in enumerate(zip(given, parsed, strict=False)):
            yield from _truths_as_numbers(value, inner, (*path, str(index)))


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 20]}...{text[-17:]}"
