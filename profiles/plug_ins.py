"""From what a user asks for, `NAME` or `NAME=OPTIONS`, to preprocessors, profilers and result writers."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from profiles.errors import InputError
from profiles.preprocessors import Preprocessor, preprocessors
from profiles.profilers import Profiler, profilers
from profiles.registry import Registry
from profiles.results import ResultWriter, result_writers

__all__ = ["named_preprocessors", "named_profilers", "named_writers"]

T = TypeVar("T")


def named_preprocessors(texts: Sequence[str]) -> tuple[Preprocessor, ...]:
    """In the order given, which is that in which they are applied.

    Raises:
        InputError: a name that is not known or given twice, or an option that the preprocessor refuses.
    """
    return tuple(_made("preprocessor", texts, preprocessors))


def named_profilers(texts: Sequence[str], folder: Path | None) -> tuple[Profiler, ...]:
    """In the order given, for a profile that writes its files into the folder (`ProfileOptions.folder`).

    Raises:
        InputError: as `named_preprocessors`; also one that can only write files where there is no folder.
    """
    made = tuple(_made("profiler", texts, profilers))
    for profiler in made:
        if folder is None and profiler.needs_folder:
            raise InputError(f"profiler {profiler.name}: needs a folder to write to: give --out, too")
    return made


def named_writers(names: Sequence[str]) -> tuple[ResultWriter, ...]:
    """Each once.

    Raises:
        InputError: a name that is not known.
    """
    return tuple(result_writers.get(name)() for name in dict.fromkeys(names))


def _made(what: str, texts: Sequence[str], registry: Registry[Callable[[str], T]]) -> Iterator[T]:
    seen: set[str] = set()
    for text in texts:
        name, _, option = text.partition("=")
        if name in seen:
            raise InputError(f"{what}: {name!r} is asked for twice")
        seen.add(name)
        yield registry.get(name)(option)
