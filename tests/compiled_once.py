"""One process compiles a function of numba's disk cache, the others wait for it and read it from there."""

from pathlib import Path
from typing import Any

from filelock import FileLock

__all__ = ["compile_once"]


def compile_once(folder: Path) -> None:
    """From now on this process compiles a function only while it holds that function's lock in the folder.

    A function is locked before those that it calls, and no call goes in a circle: processes never wait for each other.
    """
    try:
        from numba.core.caching import FunctionCache
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.dispatcher import Dispatcher
    except ImportError:
        return
    compile_now = Dispatcher.compile

    def compile_alone(dispatcher: Any, signature: Any) -> Any:
        if not isinstance(dispatcher._cache, FunctionCache):
            return compile_now(dispatcher, signature)
        function = dispatcher.py_func
        lock = FileLock(folder / f"{function.__module__}.{function.__qualname__}.lock", is_singleton=True)
        # numba's own lock first, which keeps the other threads of this process away from the file.
        with global_compiler_lock, lock:
            return compile_now(dispatcher, signature)

    Dispatcher.compile = compile_alone  # type: ignore[method-assign,assignment]  # numba offers no other way in.
