import pytest

from profiles.errors import InputError, UnknownNameError
from profiles.registry import Registry


def test_entries_are_found_by_name_and_listed_sorted() -> None:
    registry: Registry[int] = Registry("number")
    assert registry.register("two", 2) == 2
    registry.register("one", 1)
    assert registry.get("two") == 2
    assert registry.names() == tuple(registry) == ("one", "two")


def test_a_name_is_taken_once() -> None:
    registry: Registry[int] = Registry("number")
    registry.register("one", 1)
    with pytest.raises(InputError, match="number: 'one' is registered already"):
        registry.register("one", 2)


def test_an_unknown_name_lists_the_known_ones() -> None:
    registry: Registry[int] = Registry("number")
    registry.register("one", 1)
    with pytest.raises(UnknownNameError, match=r"number: unknown name 'on'.*known: one"):
        registry.get("on")
