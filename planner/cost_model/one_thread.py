"""Fits on one thread: on matrices as small, threads of a linear-algebra library cost four times what they save."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

__all__ = ["one_thread"]


@contextmanager
def one_thread(*modules: str) -> Iterator[None]:
    """Hold the numerical libraries to one thread; the `modules` are imported first, since a limit holds only then."""
    from threadpoolctl import threadpool_limits

    for module in modules:
        import_module(module)
    with threadpool_limits(1):
        yield
