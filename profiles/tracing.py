"""Every call of a module as a span on a meter: time, or FLOPs counted so far.

The modules' `forward` is replaced, not hooked: a hook changes what some modules do (a TransformerEncoderLayer leaves
its fast path), and is passed by where a parent calls `.forward()`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, TypeVar

from torch import nn

from profiles.tree import ModuleNode, is_compiled_in_place

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
    """The finished calls in the order of their ends, the nodes that are running, and what raised, innermost first."""

    spans: list[Span[R]] = field(default_factory=list)
    open_calls: list[tuple[int, R]] = field(default_factory=list)
    failures: list[tuple[int, BaseException]] = field(default_factory=list)


@contextmanager
def tracing(
    nodes: Sequence[ModuleNode],
    meter: Callable[[], R],
    on_call: OnCall | None = None,
    on_return: OnReturn | None = None,
    *,
    sees_enclosed: bool = False,
) -> Iterator[Trace[R]]:
    """Record the calls of the nodes' modules inside the block; `on_call` gets index, args and kwargs before a call.

    `on_return` gets them after it, and the output. A call of a module that several parents share is one of the node
    under the innermost parent that is running. Only outermost calls are told to `on_call` and `on_return`. What runs
    inside a compiled module is left alone, as a change would compile it anew, but for `sees_enclosed`.
    """
    trace: Trace[R] = Trace()
    places: dict[nn.Module, list[ModuleNode]] = {}
    for node in nodes:
        places.setdefault(node.module, []).append(node)
    with ExitStack() as stack:
        for shared in places.values():
            if sees_enclosed or any(node.enclosure is None for node in shared):
                stack.enter_context(_traced(_Place(shared, nodes), trace, meter, on_call, on_return))
        yield trace


@contextmanager
def _traced(
    place: "_Place[R]",
    trace: Trace[R],
    meter: Callable[[], R],
    on_call: OnCall | None,
    on_return: OnReturn | None,
) -> Iterator[None]:
    """Where a module is compiled in place or has hooks of its own, a call starts before `forward`."""
    attributes, name = vars(place.module), _entry_name(place.module)
    before = attributes.get(name)
    entry = place.module._call_impl if before is None and name != "forward" else getattr(place.module, name)  # noqa: SLF001 (what `__call__` calls)
    attributes[name] = wraps(entry)(_recorded(entry, place, trace, meter, on_call, on_return))
    try:
        yield
    finally:
        if before is None:
            del attributes[name]
        else:
            attributes[name] = before


def _entry_name(module: nn.Module) -> str:
    has_hooks = module._forward_pre_hooks or module._forward_hooks  # noqa: SLF001 (no public way to ask)
    return "_compiled_call_impl" if has_hooks or is_compiled_in_place(module) else "forward"


def _recorded(
    entry: Callable[..., Any],
    place: "_Place[R]",
    trace: Trace[R],
    meter: Callable[[], R],
    on_call: OnCall | None,
    on_return: OnReturn | None,
) -> Callable[..., Any]:
    open_calls, spans = trace.open_calls, trace.spans

    def call(*args: Any, **kwargs: Any) -> Any:
        index = place.of_call(open_calls)
        is_outermost = not any(running == index for running, _ in open_calls)
        caller = open_calls[-1][0] if open_calls else None
        if on_call and is_outermost:
            on_call(index, args, kwargs)
        start = meter()
        open_calls.append((index, start))
        try:
            output = entry(*args, **kwargs)
        except BaseException as error:
            trace.failures.append((index, error))
            raise
        finally:
            end = meter()
            open_calls.pop()
        spans.append(Span(index, caller, start, end, is_outermost))
        if on_return and is_outermost:
            on_return(index, args, kwargs, output)
        return output

    return call


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
