"""Compiling a kernel with numba, such that its disk cache is never stale.

numba's cache of a function looks at the text of that function's own file: neither a callee nor a constant of another
file counts. So the mark of freshness takes in the text of all kernels: after a change of any, all are compiled anew.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

from numba import njit

__all__ = ["Compiled", "compiled", "compiled_borrowing", "compiled_helper", "compiled_within", "inlined"]

_Taken = ParamSpec("_Taken")
_Given_co = TypeVar("_Given_co", covariant=True)


class Compiled(Protocol[_Taken, _Given_co]):
    """A compiled function, with what it was compiled from."""

    @property
    def py_func(self) -> Callable[_Taken, _Given_co]:
        """The function in Python."""
        ...

    def __call__(self, *args: _Taken.args, **options: _Taken.kwargs) -> _Given_co:
        """The same, compiled."""
        ...


def compiled(function: Callable[_Taken, _Given_co]) -> Compiled[_Taken, _Given_co]:
    """The function, compiled when it is first called and read from the disk ever after."""
    dispatcher: Compiled[_Taken, _Given_co] = _cached(function)
    return dispatcher


def compiled_within(function: Callable[_Taken, _Given_co]) -> Compiled[_Taken, _Given_co]:
    """Of a function that only compiled ones call: without a way in from Python it compiles in less time.

    It divides as numpy does, without a check for zero, which saves a branch and an exception for each division.
    """
    dispatcher: Compiled[_Taken, _Given_co] = _cached(
        function, no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy"
    )
    return dispatcher


def compiled_helper(function: Callable[_Taken, _Given_co]) -> Compiled[_Taken, _Given_co]:
    """Of a function that compiled ones call for every query, and Python may call too.

    It divides as numpy does: where a division could raise, numba counts references to every array of the function.
    """
    dispatcher: Compiled[_Taken, _Given_co] = _cached(function, error_model="numpy")
    return dispatcher


def compiled_borrowing(function: Callable[_Taken, _Given_co]) -> Compiled[_Taken, _Given_co]:
    """As `compiled_helper`, of a function that makes no arrays: it counts no references, to none of those it is given.

    A reference counted is an atomic addition, and an array that is taken out of a tuple counts twice.
    """
    dispatcher: Compiled[_Taken, _Given_co] = _cached(function, error_model="numpy", _nrt=False)
    return dispatcher


def inlined(function: Callable[_Taken, _Given_co]) -> Compiled[_Taken, _Given_co]:
    """Of a function whose code is to stand where it is called."""
    dispatcher: Compiled[_Taken, _Given_co] = _cached(function, inline="always")
    return dispatcher


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    # What is not said here a function takes from whoever calls it first.
    dispatcher: Any = njit(cache=True, nogil=True, **{"_nrt": True, **options})(function)
    # numba has no public way to say what a cached function depends on.
    dispatcher._cache._cache_file._source_stamp = _digest_of_kernels()  # noqa: SLF001 (the only way)
    return dispatcher


@cache
def _digest_of_kernels() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
