"""Bytes of stored numbers, and the check that sizes share."""

from profiles.errors import InputError

__all__ = ["BYTES_PER_FLOAT", "BYTES_PER_HASH", "require_positive"]

BYTES_PER_FLOAT = 4
# Per hash function: coefficients a and b as 64-bit integers.
BYTES_PER_HASH = 16


def require_positive(where: str, **values: int) -> None:
    """Raise an `InputError` naming the first value below 1."""
    for name, value in values.items():
        if value < 1:
            raise InputError(f"{where}: {name} must be >= 1, but got {value}")
