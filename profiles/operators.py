"""What the operators of a pass tell: FLOPs, which of them nobody counts, whose tensors they read and write."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from profiles.flops import custom_mapping, packet_of
from profiles.operator_work import operator_work

__all__ = ["Operator", "OperatorWatch"]


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator that is about to run: its name as profilers give it (`aten::relu`), and its tensors.

    `is_uncounted` tells that it may have FLOPs which nobody counts.
    """

    name: str
    is_uncounted: bool
    tensors: tuple[torch.Tensor, ...]
    written: tuple[torch.Tensor, ...]


class OperatorWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own
    """Counts FLOPs by the formulas of `FlopCounterMode` and `profiles.flops`, and tells of every operator it runs.

    Composite operators are taken apart, so that their parts are counted. `FlopCounterMode` itself is not entered: it
    hooks every module there is, and loads the compiler, which takes seconds.
    """

    supports_higher_order_operators = True

    def __init__(self, tell: Callable[[Operator], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's own
        self._tell = tell
        self._is_paused = False
        self._formulas: Mapping[Any, Callable[..., int]]
        self._formulas = FlopCounterMode(display=False, custom_mapping=custom_mapping()).flop_registry
        self.flops = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Else the first operator would import the compiler."""
        return False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count and tell nothing inside."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Take the operator apart, or tell of it and run it."""
        named = dict(kwargs or {})
        if self._is_paused:
            return func(*args, **named)
        values: dict[Any, Any] = {**dict(enumerate(args)), **named}
        tensors = tuple(one for value in values.values() for one in _tensors(value))
        if any(map(_knows_itself, tensors)):
            return NotImplemented
        if not isinstance(func, torch._ops.OpOverload):  # noqa: SLF001 (it has no other name)
            return func(*args, **named)
        formula = self._formulas.get(packet_of(func))
        if formula is None:
            with self:
                parts_result = func.decompose(*args, **named)
            if parts_result is not NotImplemented:
                return parts_result
        written = tuple(tensor for place in _written(func) for tensor in _tensors(values.get(place)))
        self._tell(Operator(*_description(func), tensors, written))
        output = func(*args, **named)
        if formula is not None:
            self.flops += formula(*args, **named, out_val=output)
        return output


def _knows_itself(tensor: torch.Tensor) -> bool:
    """Whether it is of a class that runs operators in its own way, on tensors that it holds."""
    return type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


@cache
def _description(func: Any) -> tuple[str, bool]:
    return str(func._schema.name), operator_work(func) == "unknown"  # noqa: SLF001 (as profilers name it)


@cache
def _written(func: Any) -> tuple[int | str, ...]:
    """Places and names of the arguments that the operator writes."""
    if not func._schema.is_mutable:  # noqa: SLF001 (no public way to ask)
        return ()
    arguments = enumerate(func._schema.arguments)  # noqa: SLF001 (as above)
    return tuple(key for place, one in arguments if one.is_write for key in (place, one.name))


def _tensors(value: Any) -> tuple[torch.Tensor, ...]:
    if isinstance(value, torch.Tensor):
        return (value,)
    return tuple(part for part in value if isinstance(part, torch.Tensor)) if isinstance(value, list | tuple) else ()
