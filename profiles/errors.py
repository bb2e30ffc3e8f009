"""The error tree.

RecplanError
├── InputError (also ValueError)      what the user gave is wrong: exit code 2
│   ├── UnknownNameError              a name that no registry or catalogue holds; lists the known ones
│   ├── InfeasibleError               the input is well formed, but nothing can satisfy it
│   └── CorruptFileError              a file that cannot be read as what it claims to be
├── StorageError (also OSError)       the disk is full, a folder is not writable: exit code 1
└── MeasurementError                  a component could not be measured: exit code 1
"""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "CorruptFileError",
    "InfeasibleError",
    "InputError",
    "MeasurementError",
    "RecplanError",
    "StorageError",
    "UnknownNameError",
]

# Of thousands of names, as tables have, these are listed.
_MOST_KNOWN = 60


class RecplanError(Exception):
    """Root of every error that recplan raises on purpose."""


class InputError(RecplanError, ValueError):
    """What the user gave is wrong; the message names the key or file, the condition, and what was got."""


class UnknownNameError(InputError):
    """A name that is not known; the message lists the known ones."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        self.what, self.name, self.known = what, name, tuple(sorted(known))
        close = get_close_matches(name, self.known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        rest = len(self.known) - _MOST_KNOWN
        listed = ", ".join(self.known[:_MOST_KNOWN]) + (f" and {rest:,} more" if rest > 0 else "")
        super().__init__(f"{what}: unknown name {name!r}{hint}; known: {listed or 'none'}")

    def __reduce__(self) -> tuple[type["UnknownNameError"], tuple[str, str, tuple[str, ...]]]:
        return UnknownNameError, (self.what, self.name, self.known)


class InfeasibleError(InputError):
    """The input is well formed, but nothing satisfies it; the message says by how much the nearest misses."""


class CorruptFileError(InputError):
    """A file cannot be read as what it claims to be; the message names the file and the place."""


class StorageError(RecplanError, OSError):
    """Writing failed (full disk, no permission); what had been written before stays valid."""


class MeasurementError(RecplanError):
    """A component could not be measured."""
