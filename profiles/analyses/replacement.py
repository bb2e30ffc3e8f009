"""A model with other modules in some places, that shares everything else with the one it is made of."""

import copy
from collections.abc import Mapping

from torch import nn

from profiles.errors import InputError

__all__ = ["module_at", "with_replaced"]


def module_at(model: nn.Module, path: str) -> nn.Module:
    """The module at a path of the tree; the empty path is the model.

    Raises:
        InputError: there is no module at that path.
    """
    try:
        return model.get_submodule(path)
    except AttributeError:
        raise InputError(f"path {path!r}: there is no such module in the {type(model).__name__}") from None


def with_replaced(model: nn.Module, replacements: Mapping[str, nn.Module]) -> nn.Module:
    """The model with these modules at these paths, and wherever else the modules stood that were there.

    The model itself stays as it is. Parameters, buffers and all modules that hold no replaced one are the very same
    objects in both; what holds one is copied flat. What a module keeps of others in plain attributes is not replaced.

    Raises:
        InputError: no module at a path, or one that is inside another.
    """
    chosen = {module_at(model, path): replacement for path, replacement in replacements.items()}
    for path in replacements:
        outer = next(
            (other for other in replacements if other != path and path.startswith(f"{other}." if other else "")), None
        )
        if outer is not None:
            raise InputError(f"path {path!r}: is inside {outer!r}, which is replaced as well")
    return _rebuilt(model, dict(chosen))


def _rebuilt(module: nn.Module, made: dict[nn.Module, nn.Module]) -> nn.Module:
    if module not in made:
        children = {name: child and _rebuilt(child, made) for name, child in module._modules.items()}  # noqa: SLF001
        made[module] = module
        if any(child is not module._modules[name] for name, child in children.items()):  # noqa: SLF001
            made[module] = outer = copy.copy(module)
            # A flat copy shares the dict of its children, and of a forward that was set on the object alone.
            outer.__dict__ = {**module.__dict__, "_modules": children}
    return made[module]
