"""The module tree of a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

__all__ = ["ModuleNode", "breadth_first", "is_compiled", "is_compiled_in_place", "is_scripted", "module_tree"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ModuleNode:
    """One module in one parent: `path` is empty for the model itself; `parent` and `index` are places in the tree.

    `aliases` are its other paths in the same parent. A module that several parents share is a node under each of them;
    `first_path` is then where it stands first, and None there. `enclosure` is the innermost module above it that runs
    as one, compiled or scripted, so that calls in it are not seen. `tied` names, by its own parameters' names, those of
    earlier modules that are the very same.
    """

    index: int
    path: str
    depth: int
    module: nn.Module
    parent: int | None
    aliases: tuple[str, ...] = ()
    first_path: str | None = None
    enclosure: str | None = None
    tied: Mapping[str, str] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """The name of the module's class; of a scripted one, that of the class that was scripted."""
        return str(getattr(self.module, "original_name", None) or type(self.module).__name__)

    @property
    def is_leaf(self) -> bool:
        """Whether the module holds no other modules."""
        return not any(True for _ in self.module.children())


def module_tree(model: nn.Module, max_depth: int | None = None) -> tuple[ModuleNode, ...]:
    """Every module down to `max_depth` (the model itself has depth 0), parents before children, depth first."""
    nodes: list[ModuleNode] = []
    first_paths: dict[nn.Module, str] = {}
    owners: dict[nn.Parameter, tuple[nn.Module, str]] = {}

    def add(
        module: nn.Module, paths: tuple[str, ...], depth: int, parent: int | None, enclosure: str | None = None
    ) -> None:
        index, first_path = len(nodes), first_paths.setdefault(module, paths[0])
        nodes.append(
            ModuleNode(
                index=index,
                path=paths[0],
                depth=depth,
                module=module,
                parent=parent,
                aliases=paths[1:],
                first_path=None if first_path == paths[0] else first_path,
                enclosure=enclosure,
                tied=_tied(module, paths[0], owners),
            )
        )
        inside = paths[0] if is_compiled(module) or is_scripted(module) else enclosure
        if depth != max_depth:
            for child, names in _children(module).items():
                below = tuple(f"{paths[0]}.{name}" if paths[0] else name for name in names)
                add(child, below, depth + 1, index, inside)

    add(model, ("",), 0, None)
    return tuple(nodes)


def breadth_first(nodes: tuple[ModuleNode, ...]) -> list[ModuleNode]:
    """The nodes level by level, each level in tree order."""
    return sorted(nodes, key=lambda node: node.depth)


def is_compiled(module: nn.Module) -> bool:
    """Whether calls of it run what `torch.compile(module)` or `module.compile()` made of it."""
    return is_compiled_in_place(module) or "_orig_mod" in module._modules  # noqa: SLF001 (how `torch.compile` marks it)


def is_compiled_in_place(module: nn.Module) -> bool:
    """Whether `module.compile()` was called."""
    return module._compiled_call_impl is not None  # noqa: SLF001 (no public way to ask)


def is_scripted(module: nn.Module) -> bool:
    """Whether it is a ScriptModule, whose children run inside it."""
    return isinstance(module, torch.jit.ScriptModule)


def _tied(module: nn.Module, path: str, owners: dict[nn.Parameter, tuple[nn.Module, str]]) -> dict[str, str]:
    """Told of the module's parameters; those that another module had before."""
    found = {}
    for name, parameter in module.named_parameters(recurse=False):
        owner, known_as = owners.setdefault(parameter, (module, f"{path}.{name}".removeprefix(".")))
        if owner is not module:
            found[name] = known_as
    return found


def _children(module: nn.Module) -> dict[nn.Module, list[str]]:
    children: dict[nn.Module, list[str]] = {}
    for name, child in module._modules.items():  # noqa: SLF001 (`named_children` leaves out second names)
        if child is not None:
            children.setdefault(child, []).append(name)
    return children
