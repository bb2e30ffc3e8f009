"""Name the modules in what a profiler records, without hooks: those would lead some modules off their fast paths."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from profiles.walk.tree import ModuleNode

__all__ = ["module_ranges", "node_index"]

_PREFIX = "recplan module "


@contextmanager
def module_ranges(nodes: Sequence[ModuleNode]) -> Iterator[None]:
    """Every call of the nodes' modules inside the block is a named range, also one made through `.forward()`.

    Left alone, so that what is in them shows under the module around: compiled and scripted modules' insides.
    A call of a module that several parents share is one of the node under the innermost parent that is running.
    """
    places: dict[nn.Module, list[ModuleNode]] = {}
    for node in nodes:
        if not any(_is_sealed(nodes[index].module) for index in _ancestors(node, nodes)):
            places.setdefault(node.module, []).append(node)
    running: list[int] = []
    with ExitStack() as stack:
        for module, shared in places.items():
            if not isinstance(module, torch.jit.ScriptModule):
                stack.enter_context(_named(module, shared, nodes, running))
        yield


def node_index(range_name: str) -> int | None:
    """The node whose range has this name; None for ranges of other kinds."""
    if not range_name.startswith(_PREFIX):
        return None
    return int(range_name.removeprefix(_PREFIX).partition(":")[0])


@contextmanager
def _named(
    module: nn.Module, shared: Sequence[ModuleNode], nodes: Sequence[ModuleNode], running: list[int]
) -> Iterator[None]:
    around = {node.index: frozenset(_ancestors(node, nodes)) for node in shared}
    original, own = module.forward, module.__dict__
    held = own.get("forward")

    def forward(*args: Any, **kwargs: Any) -> Any:
        places = (index for outer in reversed(running) for index in around if outer in around[index])
        index = next(places, shared[0].index)
        running.append(index)
        try:
            with torch.profiler.record_function(f"{_PREFIX}{index}: {nodes[index].path or '(model)'}"):
                return original(*args, **kwargs)
        finally:
            running.pop()

    own["forward"] = forward
    try:
        yield
    finally:
        if held is None:
            del own["forward"]
        else:
            own["forward"] = held


def _is_sealed(module: nn.Module) -> bool:
    """Whether a change of the modules in it has no effect, or has them compiled anew."""
    return isinstance(module, torch.jit.ScriptModule) or hasattr(module, "_orig_mod")


def _ancestors(node: ModuleNode, nodes: Sequence[ModuleNode]) -> Iterator[int]:
    while node.parent is not None:
        yield node.parent
        node = nodes[node.parent]
