"""The check of an object's keys before a spec is made of it."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from profiles.errors import InputError, UnknownNameError

__all__ = ["require_keys"]


def require_keys(where: str, spec: type[Any], body: object) -> None:
    """Raise an `InputError` unless `body` is an object with every key that the spec needs, and none that it lacks."""
    if not isinstance(body, Mapping):
        raise InputError(f"{where}: must be an object, but got {body!r}")
    known = fields(spec)
    names = [field.name for field in known]
    for key in body:
        if key not in names:
            raise UnknownNameError(f"{where}: key", str(key), names)
    for field in known:
        if field.name not in body and field.default is MISSING and field.default_factory is MISSING:
            raise InputError(f"{where}: {field.name} is missing")
