"""Loading numba in a command, where every tenth of a second counts, and saying where it compiles."""

import gc
import sys
from functools import cache
from importlib import import_module
from typing import Any

from planner.cli.output import message

__all__ = ["load_numba", "tell_of_compiling"]


# scipy: to look for a BLAS. yaml: for a file of settings. coverage: to tell it what is compiled. cffi: to compile calls
# of its functions.
_UNNEEDED = ("scipy", "yaml", "coverage", "cffi")


def load_numba() -> None:
    """Import numba without what it would import only to see whether it is there, and say so where it compiles.

    Loops that are compiled in this process cannot use `numpy.dot`, `numpy.linalg` and cffi; the simulator's use none of
    these. Imports nothing where numba is loaded already. What is left out can be imported afterwards.
    """
    if "numba" not in sys.modules:
        _import_numba()
    tell_of_compiling()


@cache
def tell_of_compiling() -> None:
    """From now on the first function that has to be compiled, as it is not on the disk, is told of on stderr."""
    event = import_module("numba.core.event")
    untold = ["compiling the simulator for this machine, up to a minute; the next run takes it from the disk"]

    class Teller(event.Listener):  # type: ignore[name-defined,misc]  # numba says nothing of its types.
        def on_start(self, _: object) -> None:
            if untold:
                message(untold.pop())

        def on_end(self, _: object) -> None:
            """Compiled: nothing to say."""

    event.register("numba:compile", Teller())


def _import_numba() -> None:
    modules: dict[str, Any] = sys.modules
    left_out = [name for name in _UNNEEDED if name not in modules]
    modules.update(dict.fromkeys(left_out))
    # What is imported stays, so that looking for garbage among it, again and again while it grows, finds nothing.
    collects = gc.isenabled()
    gc.disable()
    try:
        import_module("numba.np.arraymath")
        gc.freeze()
    finally:
        if collects:
            gc.enable()
        for name in left_out:
            del modules[name]
