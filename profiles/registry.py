"""A registry is a dict with an error that lists what it holds."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from profiles.errors import InputError, UnknownNameError

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Named objects of one kind, e.g. `Registry[Policy]("policy")`."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._entries: dict[str, T] = {}

    def register(self, name: str, entry: T) -> T:
        """Add `entry` under `name`; a name is taken once only."""
        if name in self._entries:
            raise InputError(f"{self._what}: {name!r} is registered already")
        self._entries[name] = entry
        return entry

    def get(self, name: str) -> T:
        """The entry of that name, or an `UnknownNameError` that lists the known ones."""
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownNameError(self._what, name, self._entries) from None

    def names(self) -> tuple[str, ...]:
        """The known names, sorted."""
        return tuple(sorted(self._entries))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())
