"""Name the modules in what a profiler records."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch

from profiles.walk.replaced_calls import Entry, Place, places_of, replaced_calls
from profiles.walk.tree import ModuleNode

__all__ = ["module_ranges", "node_index"]

_PREFIX = "recplan module "


@contextmanager
def module_ranges(nodes: Sequence[ModuleNode]) -> Iterator[None]:
    """Every call of the nodes' modules inside the block is a named range, also one made through `.forward()`.

    Left alone, so that what is in them shows under the module around: compiled and scripted modules' insides.
    A call of a module that several parents share is one of the node under the innermost parent that is running.
    """
    running: list[tuple[int, None]] = []
    with ExitStack() as stack:
        for place in places_of(nodes):
            stack.enter_context(
                replaced_calls(place.module, partial(_named, place=place, nodes=nodes, running=running))
            )
        yield


def node_index(range_name: str) -> int | None:
    """The node whose range has this name; None for ranges of other kinds."""
    if not range_name.startswith(_PREFIX):
        return None
    return int(range_name.removeprefix(_PREFIX).partition(":")[0])


def _named(entry: Entry, place: Place, nodes: Sequence[ModuleNode], running: list[tuple[int, None]]) -> Entry:
    def call(*args: Any, **kwargs: Any) -> Any:
        index = place.of_call(running)
        running.append((index, None))
        try:
            with torch.profiler.record_function(f"{_PREFIX}{index}: {nodes[index].path or '(model)'}"):
                return entry(*args, **kwargs)
        finally:
            running.pop()

    return call
