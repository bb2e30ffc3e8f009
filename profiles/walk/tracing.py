"""Every call of a module as a span on a meter: time, or FLOPs counted so far.

The modules' `forward` is replaced, not hooked: a hook changes what some modules do (a TransformerEncoderLayer leaves
its fast path), and is passed by where a parent calls `.forward()`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial, update_wrapper, wraps
from types import MethodType
from typing import Any, Generic, TypeVar

from torch import nn

from profiles.walk.tree import ModuleNode, is_compiled_in_place

__all__ = ["Span", "Trace", "call_log", "tracing"]

R = TypeVar("R")
OnCall = Callable[[int, tuple[Any, ...], Mapping[str, Any]], None]
OnReturn = Callable[[int, tuple[Any, ...], Mapping[str, Any], Any], None]
# In a log instead of a module's number.
_RETURNED, _RAISED = -1, -2


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
    with ExitStack() as stack:
        for place in _places(nodes, sees_enclosed=sees_enclosed):
            record = partial(_recorded, place=place, trace=trace, meter=meter, on_call=on_call, on_return=on_return)
            for name in _entry_names(place.module):
                stack.enter_context(_replaced(place.module, name, record))
        yield trace


@contextmanager
def call_log(nodes: Sequence[ModuleNode], meter: Callable[[], R]) -> Iterator[Trace[R]]:
    """Record the calls as `tracing` does, at the least cost for them; the spans are there after the block."""
    trace: Trace[R] = Trace()
    log: list[tuple[int, R]] = []
    places = _places(nodes, sees_enclosed=False)
    try:
        with ExitStack() as stack:
            for number, place in enumerate(places):
                record = partial(_logged, module=place.module, number=number, log=log, meter=meter)
                for name in _entry_names(place.module):
                    stack.enter_context(_replaced(place.module, name, record))
            yield trace
    finally:
        _read(log, places, trace)


def _places(nodes: Sequence[ModuleNode], *, sees_enclosed: bool) -> "list[_Place]":
    places: dict[nn.Module, list[ModuleNode]] = {}
    for node in nodes:
        places.setdefault(node.module, []).append(node)
    seen = (shared for shared in places.values() if sees_enclosed or any(node.enclosure is None for node in shared))
    return [_Place(shared, nodes) for shared in seen]


@contextmanager
def _replaced(
    module: nn.Module, name: str, record: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Iterator[None]:
    attributes = vars(module)
    before = attributes.get(name)
    entry = module._call_impl if before is None and name != "forward" else getattr(module, name)  # noqa: SLF001 (what `__call__` calls)
    attributes[name] = _bound(record(entry), entry, module)
    try:
        yield
    finally:
        if before is None:
            del attributes[name]
        else:
            attributes[name] = before


def _entry_names(module: nn.Module) -> tuple[str, ...]:
    """Where a module is compiled in place or has hooks of its own, a call starts before `forward`.

    With hooks a parent may call `forward` all the same; of calls through both the outermost counts.
    """
    if is_compiled_in_place(module):
        return ("_compiled_call_impl",)
    has_hooks = module._forward_pre_hooks or module._forward_hooks  # noqa: SLF001 (no public way to ask)
    return ("forward", "_compiled_call_impl") if has_hooks else ("forward",)


def _bound(call: Callable[..., Any], entry: Callable[..., Any], module: nn.Module) -> Callable[..., Any]:
    """As a method, so that it belongs to the copy in a deep copy of the module."""
    if isinstance(entry, MethodType) and entry.__self__ is module:
        return MethodType(wraps(entry.__func__)(call), module)
    return update_wrapper(partial(call, module), entry)


def _of_copy(entry: Callable[..., Any], owner: nn.Module) -> Callable[..., Any]:
    """What a copy of the module runs, of which nothing is recorded."""
    return MethodType(entry.__func__, owner) if isinstance(entry, MethodType) else entry


def _recorded(
    entry: Callable[..., Any],
    place: "_Place",
    trace: Trace[R],
    meter: Callable[[], R],
    on_call: OnCall | None,
    on_return: OnReturn | None,
) -> Callable[..., Any]:
    module, open_calls, spans = place.module, trace.open_calls, trace.spans

    def call(owner: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        if owner is not module:
            return _of_copy(entry, owner)(*args, **kwargs)
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


def _logged(
    entry: Callable[..., Any], module: nn.Module, number: int, log: list[tuple[int, R]], meter: Callable[[], R]
) -> Callable[..., Any]:
    append = log.append

    def call(owner: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        if owner is not module:
            return _of_copy(entry, owner)(*args, **kwargs)
        append((number, meter()))
        try:
            output = entry(*args, **kwargs)
        except BaseException:
            append((_RAISED, meter()))
            raise
        append((_RETURNED, meter()))
        return output

    return call


def _read(log: Sequence[tuple[int, R]], places: "Sequence[_Place]", trace: Trace[R]) -> None:
    open_calls = trace.open_calls
    for number, reading in log:
        if number >= 0:
            open_calls.append((places[number].of_call(open_calls), reading))
            continue
        index, start = open_calls.pop()
        if number == _RETURNED:
            caller = open_calls[-1][0] if open_calls else None
            is_outermost = not any(running == index for running, _ in open_calls)
            trace.spans.append(Span(index, caller, start, reading, is_outermost))


class _Place:
    """The nodes of one module, and which of them a call belongs to."""

    def __init__(self, shared: Sequence[ModuleNode], nodes: Sequence[ModuleNode]) -> None:
        self.module = shared[0].module
        self.indices = tuple(node.index for node in shared)
        self._ancestors = {node.index: frozenset(_ancestors(node, nodes)) for node in shared}

    def of_call(self, open_calls: Sequence[tuple[int, object]]) -> int:
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
