"""Complaints about what an option gave, by the option's name."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from profiles.errors import InputError

__all__ = ["naming_options"]


@contextmanager
def naming_options(given: Mapping[str, object], **options: str) -> Iterator[None]:
    """A complaint `key: ...` about one of `given` begins with its option: `--key: ...`, or what `options` call it.

    Keys whose value is None were not given, so that the complaint is about the plan's.
    """
    try:
        yield
    except InputError as error:
        key, colon, complaint = str(error).partition(": ")
        if not colon or given.get(key) is None:
            raise
        option = options.get(key, f"--{key.replace('_', '-')}")
        raise InputError(f"{option}: {complaint}") from error
