"""What is wrong with the text after a preprocessor's name."""

from collections.abc import Collection

from profiles.errors import InputError

__all__ = ["no_option", "one_of", "positive"]


def one_of(name: str, value: str, known: Collection[str]) -> str:
    """The value, one of those known, or an `InputError`."""
    if value not in known:
        raise InputError(f"preprocessor {name}: must be one of {', '.join(sorted(known))}, but got {value!r}")
    return value


def positive(name: str, text: str) -> int:
    """A whole number above 0, or an `InputError`."""
    try:
        value = int(text)
    except ValueError:
        raise InputError(f"preprocessor {name}: must be a whole number, but got {text!r}") from None
    if value < 1:
        raise InputError(f"preprocessor {name}: must be >= 1, but got {value}")
    return value


def no_option(name: str, text: str) -> None:
    """An `InputError` where there is any text."""
    if text:
        raise InputError(f"preprocessor {name}: takes no option, but got {text!r}")
