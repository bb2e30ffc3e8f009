"""A registry is a dict with an error that lists what it holds."""

import warnings
from collections.abc import Iterator
from typing import Generic, TypeVar

from profiles.errors import InputError, UnknownNameError

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Named objects of one kind, e.g. `Registry[Policy]("policy")`.

    With `entry_point_group`, installed packages add to it through entry points of that group (an entry point's name
    is the object's name). They are loaded when a name is asked for that is not there, or all names are; one that cannot
    be loaded is left out with a warning.
    """

    def __init__(self, what: str, *, entry_point_group: str | None = None) -> None:
        self._what = what
        self._entries: dict[str, T] = {}
        self._group = entry_point_group

    def register(self, name: str, entry: T) -> T:
        """Add `entry` under `name`; a name is taken once only."""
        if name in self._entries:
            raise InputError(f"{self._what}: {name!r} is registered already")
        self._entries[name] = entry
        return entry

    def get(self, name: str) -> T:
        """The entry of that name, or an `UnknownNameError` that lists the known ones."""
        if name not in self._entries:
            self._load_entry_points()
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownNameError(self._what, name, self._entries) from None

    def names(self) -> tuple[str, ...]:
        """The known names, sorted."""
        self._load_entry_points()
        return tuple(sorted(self._entries))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _load_entry_points(self) -> None:
        """Add what installed packages offer, once; a name that is taken stays what it is."""
        from importlib.metadata import entry_points

        group, self._group = self._group, None
        for point in entry_points(group=group) if group else ():
            if point.name in self._entries:
                continue
            try:
                self._entries[point.name] = point.load()
            except Exception as error:  # noqa: BLE001 (a package that is broken must not hide those that are not)
                message = f"{self._what} {point.name!r} is left out: entry point {point.value!r} cannot be loaded"
                warnings.warn(f"{message}: {type(error).__name__}: {error}", stacklevel=2)
