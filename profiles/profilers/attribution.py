"""Which module ran what: operators by the ranges around them, kernels by the operators that launched them.

Operators of a backward pass belong to the module whose forward pass they derive: autograd's nodes carry the sequence
number of the operator that made them. Gradients are accumulated for the node that ran just before.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from profiles.profilers.ranges import node_index
from profiles.profilers.session import Event

__all__ = ["BACKWARD_RANGE", "ENGINE_NAME", "BusyTime", "PlacedEvent", "owners_at", "place_events", "place_kernels"]

BACKWARD_RANGE = "recplan backward"
ENGINE_NAME = "autograd engine"
_ENGINE = "autograd::engine::evaluate_function: "
_ACCUMULATE = "AccumulateGrad"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedEvent:
    """An event under the innermost module that ran it.

    `node` is None outside all modules. `call` is the place, among the placed events, of the range that is this call of
    the module, and `around` that of the call around it. `own_ns` leaves out the operators that it called. `is_counted`
    tells that the operator, one around it or one that it calls has a formula for its FLOPs. `launcher` is the operator
    that launched a kernel.
    """

    event: Event
    node: int | None
    call: int | None
    own_ns: int
    is_backward: bool = False
    is_counted: bool = False
    around: int | None = None
    launcher: str = ""

    @property
    def name(self) -> str:
        """The operator's; what autograd does around the nodes that it runs has one name."""
        return ENGINE_NAME if self.event.name.startswith(_ENGINE) else self.event.name


def place_events(
    events: Sequence[Event], has_formula: Callable[[str], bool] = lambda _: False
) -> tuple[PlacedEvent, ...]:
    """Operators and ranges on the host, in the order given, which is that of their starts."""
    placing = _Placing(has_formula)
    opened = [placing.open(place, event) for place, event in enumerate(one for one in events if one.device == "cpu")]
    return tuple(
        PlacedEvent(
            event=one.event,
            node=one.node,
            call=one.call,
            own_ns=max(one.own_ns, 0),
            is_backward=one.is_backward,
            is_counted=one.is_counted or one.calls_counted,
            around=one.around,
        )
        for one in opened
    )


def place_kernels(events: Sequence[Event], placed: Sequence[PlacedEvent]) -> tuple[PlacedEvent, ...]:
    """Kernels on the device, each where the operator is that launched it."""
    launchers = {one.event.correlation: one for one in placed if not one.event.is_range}
    found = []
    for event in events:
        if event.device != "cpu":
            launcher = launchers.get(event.launched_by)
            duration_ns = event.end_ns - event.start_ns
            found.append(
                replace(launcher, event=event, own_ns=duration_ns, launcher=launcher.name)
                if launcher
                else PlacedEvent(event=event, node=None, call=None, own_ns=duration_ns)
            )
    return tuple(found)


def owners_at(placed: Sequence[PlacedEvent], times_ns: Sequence[int]) -> list[int | None]:
    """The node that was running at each of these times, which ascend; None where none was."""
    open_events: list[PlacedEvent] = []
    owners: list[int | None] = []
    place = 0
    for time_ns in times_ns:
        while place < len(placed) and placed[place].event.start_ns <= time_ns:
            open_events.append(placed[place])
            place += 1
        open_events = [one for one in open_events if one.event.end_ns >= time_ns]
        owners.append(open_events[-1].node if open_events else None)
    return owners


class BusyTime:
    """When a device was at work, whatever on: the union of its kernels' times."""

    def __init__(self, kernels: Sequence[Event]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for kernel in sorted(kernels, key=lambda kernel: kernel.start_ns):
            if self._ends and kernel.start_ns <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], kernel.end_ns)
            else:
                self._starts.append(kernel.start_ns)
                self._ends.append(kernel.end_ns)
        lengths = (end - start for start, end in zip(self._starts, self._ends, strict=True))
        self._before = [0, *accumulate(lengths)]

    def idle_ns(self, start_ns: int, end_ns: int) -> int:
        """Of this span, how long the device had nothing to do."""
        return (end_ns - start_ns) - (self._until(end_ns) - self._until(start_ns))

    def _until(self, time_ns: int) -> int:
        place = bisect_right(self._starts, time_ns)
        if not place:
            return 0
        return self._before[place - 1] + min(time_ns, self._ends[place - 1]) - self._starts[place - 1]


@dataclass(kw_only=True, slots=True)
class _Open:
    """An event while events inside it may follow; `operator` is it itself, or of a range the operator around."""

    event: Event
    own_ns: int
    node: int | None = None
    call: int | None = None
    around: int | None = None
    operator: "_Open | None" = None
    caller: "_Open | None" = None
    is_backward: bool = False
    is_counted: bool = False
    calls_counted: bool = False


class _Placing:
    """What is open on each thread, which operator made which number, and the autograd node that ran last."""

    def __init__(self, has_formula: Callable[[str], bool]) -> None:
        self._has_formula = has_formula
        self._stacks: dict[int, list[_Open]] = {}
        self._makers: dict[int, _Open] = {}
        self._latest: _Open | None = None

    def open(self, place: int, event: Event) -> _Open:
        stack = self._stacks.setdefault(event.thread, [])
        while stack and stack[-1].event.end_ns <= event.start_ns:
            stack.pop()
        outer = stack[-1] if stack else None
        inner = _Open(event=event, own_ns=event.end_ns - event.start_ns)
        if outer:
            inner.node, inner.call, inner.around = outer.node, outer.call, outer.call
            inner.operator, inner.is_backward = outer.operator, outer.is_backward
        if event.is_range:
            _enter_range(inner, place)
        else:
            self._enter_operator(inner, outer)
        stack.append(inner)
        return inner

    def _enter_operator(self, inner: _Open, outer: _Open | None) -> None:
        event, caller = inner.event, inner.operator
        inner.operator, inner.caller = inner, caller
        if caller:
            caller.own_ns -= inner.own_ns
        if event.name.startswith(_ENGINE):
            source = self._latest if event.name.endswith(_ACCUMULATE) else self._makers.get(event.sequence)
            inner.node, inner.call = (source.node, source.call) if source else (None, None)
            inner.is_backward, self._latest = True, inner
        elif event.sequence >= 0 and not (outer and outer.event.name.startswith(_ENGINE)):
            self._makers[event.sequence] = inner
        inner.is_counted = bool(caller and caller.is_counted) or self._has_formula(event.name)
        while inner.is_counted and caller and not (caller.is_counted or caller.calls_counted):
            caller.calls_counted, caller = True, caller.caller


def _enter_range(inner: _Open, place: int) -> None:
    index = node_index(inner.event.name)
    if index is not None:
        inner.node, inner.call = index, place
    inner.is_backward = inner.is_backward or inner.event.name == BACKWARD_RANGE
