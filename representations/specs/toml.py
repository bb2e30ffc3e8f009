"""Objects of specs as TOML text: what a study or a file of one's own holds."""

import json
from collections.abc import Mapping, Sequence

from profiles.errors import InputError

__all__ = ["toml_text"]


def toml_text(body: Mapping[str, object]) -> str:
    """Lines of `key = value`; `tomllib.loads` gives the object back. Lists and objects inside it stay on one line.

    Raises:
        InputError: a value that TOML does not have, such as None.
    """
    return "".join(f"{_string(key)} = {_value(value, key)}\n" for key, value in body.items())


def _value(value: object, where: str) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = [f"{_string(key)} = {_value(inner, f'{where}.{key}')}" for key, inner in value.items()]
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(_value(inner, f'{where}[{i}]') for i, inner in enumerate(value))}]"
    raise InputError(f"{where}: TOML has no {value!r}")


def _string(text: str) -> str:
    """TOML's basic strings are JSON's, but for the delete character, and cannot hold halves of surrogate pairs."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
