"""The module tree of a model."""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import nn

__all__ = ["ModuleNode", "breadth_first", "module_tree"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ModuleNode:
    """One module: `path` is empty for the model itself; `parent` and `index` are places in the tree's tuple.

    A module that stands under several paths is a node once, under the first; `aliases` are the other paths.
    """

    index: int
    path: str
    depth: int
    module: nn.Module
    parent: int | None
    aliases: tuple[str, ...] = ()

    @property
    def is_leaf(self) -> bool:
        """Whether the module holds no other modules."""
        return not any(True for _ in self.module.children())


def module_tree(model: nn.Module, max_depth: int | None = None) -> tuple[ModuleNode, ...]:
    """Every module down to `max_depth` (the model itself has depth 0), parents before children, depth first."""
    aliases = _paths(model)
    nodes: list[ModuleNode] = []
    for path, module, depth, parent in _visit(model, "", 0, None, nodes, max_depth, set()):
        others = tuple(alias for alias in aliases[id(module)] if alias != path)
        nodes.append(ModuleNode(index=len(nodes), path=path, depth=depth, module=module, parent=parent, aliases=others))
    return tuple(nodes)


def breadth_first(nodes: tuple[ModuleNode, ...]) -> list[ModuleNode]:
    """The nodes level by level, each level in tree order."""
    return sorted(nodes, key=lambda node: node.depth)


def _visit(
    module: nn.Module,
    path: str,
    depth: int,
    parent: int | None,
    nodes: list[ModuleNode],
    max_depth: int | None,
    seen: set[int],
) -> Iterator[tuple[str, nn.Module, int, int | None]]:
    if id(module) in seen:
        return
    seen.add(id(module))
    index = len(nodes)
    yield path, module, depth, parent
    if depth == max_depth:
        return
    for name, child in module.named_children():
        child_path = f"{path}.{name}" if path else name
        yield from _visit(child, child_path, depth + 1, index, nodes, max_depth, seen)


def _paths(model: nn.Module) -> dict[int, list[str]]:
    paths: dict[int, list[str]] = {}
    for path, module in model.named_modules(remove_duplicate=False):
        paths.setdefault(id(module), []).append(path)
    return paths
