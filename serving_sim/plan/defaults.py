"""A plan's JSON form with the keys that it leaves out, so that edits may name them."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

__all__ = ["with_defaults"]


def with_defaults(body: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """The object with the defaults of `kind`, a dataclass, and of those nested in it; what it has stays as it is."""
    completed, hints = dict(body), get_type_hints(kind)
    for one in fields(kind):
        if one.name in completed:
            completed[one.name] = _nested(completed[one.name], hints[one.name])
        elif (default := _default(one)) is not MISSING:
            completed[one.name] = default
    return completed


def _nested(value: Any, hint: Any) -> Any:
    """The value, completed where the hint says that it is a dataclass, or a tuple of them."""
    kinds = get_args(hint) if isinstance(hint, types.UnionType) or get_origin(hint) is tuple else (hint,)
    kind = next((one for one in kinds if isinstance(one, type) and is_dataclass(one)), None)
    if kind is None:
        return value
    if isinstance(value, list):
        return [_nested(item, kind) for item in value]
    return with_defaults(value, kind) if isinstance(value, Mapping) else value


def _default(one: "Field[Any]") -> Any:
    value = one.default_factory() if one.default_factory is not MISSING else one.default
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
