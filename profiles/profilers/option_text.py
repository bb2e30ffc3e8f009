"""The options in a profiler's text: `depth=2,share=0.05`."""

from collections.abc import Mapping
from typing import Any

from profiles.errors import InputError, UnknownNameError

__all__ = ["parse_options"]


def parse_options(profiler: str, text: str, known: Mapping[str, type[int] | type[float]]) -> dict[str, Any]:
    """The named options, each a number of its type; the text `2` alone is the first one's value.

    Raises:
        InputError: a name that is not known, or a value that is no such number; names profiler and option.
    """
    options: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals and known:
            name, value = next(iter(known)), part
        if name not in known:
            raise UnknownNameError(f"profiler {profiler}: option", name, known)
        try:
            options[name] = known[name](value)
        except ValueError:
            wanted = "a whole number" if known[name] is int else "a number"
            raise InputError(f"profiler {profiler}: {name}: must be {wanted}, but got {value!r}") from None
    return options
