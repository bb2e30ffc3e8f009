"""Checks of single values that several parts of a plan share; each complaint starts with the key."""

import math
from collections.abc import Sequence

from profiles.errors import InputError

__all__ = ["require_at_least", "require_names", "require_positive", "require_share"]


def require_positive(name: str, value: float, where: str = "") -> None:
    """`InputError` unless the value is finite and > 0."""
    if not (value > 0 and math.isfinite(value)):
        raise InputError(f"{name}: must be finite and > 0, but got {value}{where and f' ({where})'}")


def require_at_least(name: str, value: float | None, least: float, where: str = "") -> None:
    """`InputError` unless the value is None, or finite and not below `least`."""
    if value is not None and not (value >= least and math.isfinite(value)):
        raise InputError(f"{name}: must be finite and >= {least:g}, but got {value}{where and f' ({where})'}")


def require_share(name: str, value: float | None, where: str = "") -> None:
    """`InputError` unless the value is None or in [0, 1]."""
    if value is not None and not 0 <= value <= 1:
        raise InputError(f"{name}: must be in [0, 1], but got {value}{where and f' ({where})'}")


def require_names(where: str, names: Sequence[str]) -> None:
    """`InputError` where a name is empty or comes more than once."""
    if "" in names:
        raise InputError(f"{where}: every one needs a name")
    if doubled := {name for name in names if names.count(name) > 1}:
        raise InputError(f"{where}: names must be unique, but {sorted(doubled)} come more than once")
