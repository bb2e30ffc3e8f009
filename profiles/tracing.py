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
    """One finished call: the node's index, the node that was running when it was called, two readings of the meter."""

    node: int
    caller: int | None
    start: R
    end: R


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
    """Hook the nodes' modules inside the block; `on_call` gets index, args and kwargs, `on_return` also the output."""
    trace: Trace[R] = Trace()
    with ExitStack() as hooks:
        for node in nodes:
            _hook(node, trace, meter, hooks, on_call, on_return)
        yield trace


def _hook(
    node: ModuleNode,
    trace: Trace[R],
    meter: Callable[[], R],
    hooks: ExitStack,
    on_call: OnCall | None,
    on_return: OnReturn | None,
) -> None:
    index, open_calls, spans = node.index, trace.open_calls, trace.spans

    def enter(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if on_call:
            on_call(index, args, kwargs)
        open_calls.append((index, meter()))

    def leave(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        end = meter()
        # Calls still open above this one raised, and their caller went on without them.
        while open_calls and open_calls[-1][0] != index:
            open_calls.pop()
        if open_calls:
            _, start = open_calls.pop()
            spans.append(Span(index, open_calls[-1][0] if open_calls else None, start, end))
        if on_return:
            on_return(index, args, kwargs, output)

    hooks.callback(node.module.register_forward_pre_hook(enter, with_kwargs=True).remove)
    hooks.callback(node.module.register_forward_hook(leave, with_kwargs=True).remove)
