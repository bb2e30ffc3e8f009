"""The one way in which calls of modules are watched: what a call runs is replaced on the object, and put back.

It is not hooked: a hook changes what some modules do (a TransformerEncoderLayer leaves its fast path), and is passed by
where a parent calls `.forward()`. Copies of a module, made meanwhile, run as if it had never been watched.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, update_wrapper, wraps
from types import MethodType
from typing import Any

from torch import nn

from profiles.walk.tree import ModuleNode, is_compiled_in_place

__all__ = ["Entry", "Place", "places_of", "replaced_calls"]

Entry = Callable[..., Any]
# How copies are made: pickling, `copy.copy` and `copy.deepcopy`, and `nn.DataParallel`.
_COPYING = ("__getstate__", "_replicate_for_data_parallel")
_MISSING = object()


class Place:
    """The nodes of one module, and which of them a call belongs to."""

    def __init__(self, shared: Sequence[ModuleNode], nodes: Sequence[ModuleNode]) -> None:
        self.module = shared[0].module
        self.indices = tuple(node.index for node in shared)
        self._ancestors = {node.index: frozenset(_ancestors(node, nodes)) for node in shared}

    def of_call(self, open_calls: Sequence[tuple[int, object]]) -> int:
        """Of several nodes the one under the innermost parent that is running."""
        if len(self.indices) > 1:
            for running, _ in reversed(open_calls):
                for index in self.indices:
                    if running in self._ancestors[index]:
                        return index
        return self.indices[0]


def places_of(nodes: Sequence[ModuleNode], *, sees_enclosed: bool = False) -> list[Place]:
    """The modules among the nodes.

    What runs inside a compiled or scripted one is left out, as a change would compile it anew, but for `sees_enclosed`.
    """
    places: dict[nn.Module, list[ModuleNode]] = {}
    for node in nodes:
        places.setdefault(node.module, []).append(node)
    seen = (shared for shared in places.values() if sees_enclosed or any(node.enclosure is None for node in shared))
    return [Place(shared, nodes) for shared in seen]


@contextmanager
def replaced_calls(module: nn.Module, replacing: Callable[[Entry], Entry]) -> Iterator[None]:
    """Calls of the module run what `replacing` makes of what they ran before.

    Where it is compiled in place or has hooks of its own, a call starts before `forward`. With hooks a parent may call
    `forward` all the same: a call through both is seen twice, the one inside the other.
    """
    attributes, names = vars(module), _entry_names(module)
    held = {name: attributes.get(name, _MISSING) for name in (*names, *_COPYING)}
    entries = {name: getattr(module, name) for name in names}
    made = {name: getattr(module, name) for name in _COPYING}
    for name, entry in entries.items():
        attributes[name] = _bound(_but_of_copies(replacing(entry), entry, module), entry, module)
    for name, entry in made.items():
        attributes[name] = partial(_unwatched, entry, held)
    try:
        yield
    finally:
        _put_back(attributes, held)


def _entry_names(module: nn.Module) -> tuple[str, ...]:
    if is_compiled_in_place(module):
        return ("_compiled_call_impl",)
    has_hooks = module._forward_pre_hooks or module._forward_hooks  # noqa: SLF001 (no public way to ask)
    return ("forward", "_call_impl") if has_hooks else ("forward",)


def _but_of_copies(call: Entry, entry: Entry, module: nn.Module) -> Entry:
    """As a function of the module: what copies it with its attributes may bind it to the copy, which runs `entry`."""

    def of_owner(owner: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        if owner is module:
            return call(*args, **kwargs)
        return (MethodType(entry.__func__, owner) if isinstance(entry, MethodType) else entry)(*args, **kwargs)

    return of_owner


def _bound(call: Entry, entry: Entry, module: nn.Module) -> Entry:
    """With the name and signature of what it stands for."""
    if isinstance(entry, MethodType) and entry.__self__ is module:
        return MethodType(wraps(entry.__func__)(call), module)
    return update_wrapper(partial(call, module), entry)


def _unwatched(copying: Callable[[], Any], held: dict[str, Any]) -> Any:
    """What a copy is made of, or the copy itself."""
    made = copying()
    if isinstance(made, nn.Module):
        _put_back(vars(made), held)
    elif isinstance(made, dict):
        # It may be the attributes of the watched module themselves.
        made = made.copy()
        _put_back(made, held)
    return made


def _put_back(attributes: dict[str, Any], held: dict[str, Any]) -> None:
    for name in held.keys() & attributes.keys():
        if held[name] is _MISSING:
            del attributes[name]
        else:
            attributes[name] = held[name]


def _ancestors(node: ModuleNode, nodes: Sequence[ModuleNode]) -> Iterator[int]:
    while node.parent is not None:
        yield node.parent
        node = nodes[node.parent]
