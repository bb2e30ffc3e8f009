"""Every call of a module as a span on a meter: time, or FLOPs counted so far."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from profiles.walk.replaced_calls import Entry, Place, places_of, replaced_calls
from profiles.walk.tree import ModuleNode

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
    inside a compiled module is left alone but for `sees_enclosed`.
    """
    trace: Trace[R] = Trace()
    with ExitStack() as stack:
        for place in places_of(nodes, sees_enclosed=sees_enclosed):
            record = partial(_recorded, place=place, trace=trace, meter=meter, on_call=on_call, on_return=on_return)
            stack.enter_context(replaced_calls(place.module, record))
        yield trace


@contextmanager
def call_log(nodes: Sequence[ModuleNode], meter: Callable[[], R]) -> Iterator[Trace[R]]:
    """Record the calls as `tracing` does, at the least cost for them; the spans are there after the block."""
    trace: Trace[R] = Trace()
    log: list[tuple[int, R]] = []
    places = places_of(nodes)
    try:
        with ExitStack() as stack:
            for number, place in enumerate(places):
                stack.enter_context(replaced_calls(place.module, partial(_logged, number=number, log=log, meter=meter)))
            yield trace
    finally:
        _read(log, places, trace)


def _recorded(
    entry: Entry,
    place: Place,
    trace: Trace[R],
    meter: Callable[[], R],
    on_call: OnCall | None,
    on_return: OnReturn | None,
) -> Entry:
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


def _logged(entry: Entry, number: int, log: list[tuple[int, R]], meter: Callable[[], R]) -> Entry:
    append = log.append

    def call(*args: Any, **kwargs: Any) -> Any:
        append((number, meter()))
        try:
            output = entry(*args, **kwargs)
        except BaseException:
            append((_RAISED, meter()))
            raise
        append((_RETURNED, meter()))
        return output

    return call


def _read(log: Sequence[tuple[int, R]], places: Sequence[Place], trace: Trace[R]) -> None:
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
