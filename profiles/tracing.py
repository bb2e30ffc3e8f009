"""Hooks that record every call of a module as a span on a meter: time, or FLOPs counted so far."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from torch import nn

from profiles.tree import ModuleNode

__all__ = ["Span", "Trace", "tracing"]

R = TypeVar("R")
OnCall = Callable[[int, tuple[Any, ...], Mapping[str, Any]], None]
OnReturn = Callable[[int, tuple[Any, ...], Mapping[str, Any], Any], None]


@dataclass(frozen=True, slots=True)
class Span(Generic[R]):
    """One finished call: the node's index, the node that was running when it was called, two readings of the meter.

    `is_outermost` is false of a call that a node makes, by whatever way, of itself: an outer span holds it.
    """

    node: int
    caller: int | None
    start: R
    end: R
    is_outermost: bool = True


@dataclass(kw_only=True, slots=True)
class Trace(Generic[R]):
    """The finished calls in the order of their ends, and `open_calls`: those that have not returned, outermost first.

    After an exception `open_calls` are the nodes through which it passed.
    """

    spans: list[Span[R]] = field(default_factory=list)
    open_calls: list[tuple[int, R]] = field(default_factory=list)


@contextmanager
def tracing(
    nodes: Sequence[ModuleNode],
    meter: Callable[[], R],
    on_call: OnCall | None = None,
    on_return: OnReturn | None = None,
) -> Iterator[Trace[R]]:
    """Hook the nodes' modules inside the block; `on_call` gets index, args and kwargs, `on_return` also the output.

    A call of a module that several parents share is one of the node under the innermost parent that is running. Only
    outermost calls are told to `on_call` and `on_return`.
    """
    trace: Trace[R] = Trace()
    places: dict[nn.Module, list[ModuleNode]] = {}
    for node in nodes:
        places.setdefault(node.module, []).append(node)
    with ExitStack() as hooks:
        for shared in places.values():
            _hook(_Place(shared, nodes), trace, meter, hooks, on_call, on_return)
        yield trace


class _Place(Generic[R]):
    """The nodes of one module, and which of them a call belongs to."""

    def __init__(self, shared: Sequence[ModuleNode], nodes: Sequence[ModuleNode]) -> None:
        self.module = shared[0].module
        self.indices = tuple(node.index for node in shared)
        self._ancestors = {node.index: frozenset(_ancestors(node, nodes)) for node in shared}

    def of_call(self, open_calls: Sequence[tuple[int, R]]) -> int:
        if len(self.indices) > 1:
            for running, _ in reversed(open_calls):
                for index in self.indices:
                    if running in self._ancestors[index]:
                        return index
        return self.indices[0]


def _ancestors(node: ModuleNode, nodes: Sequence[ModuleNode]) -> Iterator[int]:
    while node.parent is not None:
        yield node.parent
        node = nodes[node.parent]


def _is_open(index: int, open_calls: Sequence[tuple[int, R]]) -> bool:
    return any(running == index for running, _ in open_calls)


def _hook(
    place: _Place[R],
    trace: Trace[R],
    meter: Callable[[], R],
    hooks: ExitStack,
    on_call: OnCall | None,
    on_return: OnReturn | None,
) -> None:
    open_calls, spans = trace.open_calls, trace.spans

    def enter(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        index = place.of_call(open_calls)
        if on_call and not _is_open(index, open_calls):
            on_call(index, args, kwargs)
        open_calls.append((index, meter()))

    def leave(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        end = meter()
        # Calls still open above this one raised, and their caller went on without them.
        while open_calls and open_calls[-1][0] not in place.indices:
            open_calls.pop()
        if not open_calls:
            return
        index, start = open_calls.pop()
        is_outermost = not _is_open(index, open_calls)
        spans.append(Span(index, open_calls[-1][0] if open_calls else None, start, end, is_outermost))
        if on_return and is_outermost:
            on_return(index, args, kwargs, output)

    hooks.callback(place.module.register_forward_pre_hook(enter, with_kwargs=True).remove)
    hooks.callback(place.module.register_forward_hook(leave, with_kwargs=True).remove)
