"""Loading numba in a command, where every tenth of a second counts."""

import gc
import sys
from importlib import import_module
from typing import Any

__all__ = ["load_numba"]


# scipy: to look for a BLAS. yaml: for a file of settings. coverage: to tell it what is compiled. cffi: to compile calls
# of its functions.
_UNNEEDED = ("scipy", "yaml", "coverage", "cffi")


def load_numba() -> None:
    """Import numba without what it would import only to see whether it is there.

    Loops that are compiled in this process cannot use `numpy.dot`, `numpy.linalg` and cffi; the simulator's use none of
    these. Does nothing where numba is loaded already. What is left out can be imported afterwards.
    """
    if "numba" in sys.modules:
        return
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
