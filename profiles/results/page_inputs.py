"""The inputs of a call as a text that fits into a column."""

import re

__all__ = ["short_inputs"]

_TENSOR = r"\w+\[[^\[\]]*\](?: strides \[[^\[\]]*\])?"
_ALIKE = re.compile(rf"({_TENSOR})(?:, \1(?! strides))+")
_SEPARATOR = ", "


def short_inputs(signature: str) -> str:
    """Tensors that are alike and follow one another are told once: `27 × float32[256, 512]`."""
    return _ALIKE.sub(_counted, signature)


def _counted(alike: re.Match[str]) -> str:
    count = (len(alike[0]) + len(_SEPARATOR)) // (len(alike[1]) + len(_SEPARATOR))
    return f"{count} × {alike[1]}"
