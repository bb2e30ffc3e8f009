"""Public names that load their module on first use, so that importing a package stays cheap."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_attributes"]


def lazy_attributes(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A module-level `__getattr__` (PEP 562) for `package`; `modules` maps a public name to its module."""

    def __getattr__(name: str) -> Any:  # noqa: N807 (the name that PEP 562 asks for)
        if name in modules:
            return getattr(import_module(modules[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__
