"""Loading numba in a command, where every tenth of a second counts."""

import sys
from importlib import import_module
from typing import Any

__all__ = ["load_numba"]


def load_numba() -> None:
    """Import numba without scipy, which it would import only to look for a BLAS.

    Loops that are compiled in this process cannot use `numpy.dot` and `numpy.linalg`; the simulator's use neither. Does
    nothing where either is loaded already. scipy itself can be imported afterwards.
    """
    if "numba" in sys.modules or "scipy" in sys.modules:
        return
    modules: dict[str, Any] = sys.modules
    modules["scipy"] = None
    try:
        import_module("numba.np.arraymath")
    finally:
        del modules["scipy"]
