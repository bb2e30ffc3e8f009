"""Bytes of stored numbers, and the checks that sizes share."""

from numbers import Integral, Real

from profiles.errors import InputError

__all__ = [
    "BYTES_PER_FLOAT",
    "BYTES_PER_HASH",
    "BYTES_PER_ROW_NUMBER",
    "require_integer",
    "require_number",
    "require_positive",
]

BYTES_PER_FLOAT = 4
# Per hash function: coefficients a and b as 64-bit integers.
BYTES_PER_HASH = 16
# Which row of a reduced table an id reads, as a 32-bit integer.
BYTES_PER_ROW_NUMBER = 4


def require_integer(where: str, value: object, *, minimum: int) -> None:
    """Raise an `InputError` unless the value is an integer (no bool) of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{where} must be an integer, but got {value!r}")
    if value < minimum:
        raise InputError(f"{where} must be >= {minimum}, but got {value}")


def require_number(where: str, value: object) -> None:
    """Raise an `InputError` unless the value is a real number (no bool); it may be infinite or NaN."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{where} must be a number, but got {value!r}")


def require_positive(where: str, **values: int) -> None:
    """Raise an `InputError` naming the first value that is no integer or below 1."""
    for name, value in values.items():
        require_integer(f"{where}: {name}", value, minimum=1)
