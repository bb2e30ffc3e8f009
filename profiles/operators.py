"""What the operators of a pass tell: FLOPs, which of them have no formula, whose tensors they read and write."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from profiles.flops import custom_mapping
from profiles.operator_work import operator_work

__all__ = ["Operator", "OperatorWatch", "counting_flops"]


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator that is about to run: its name as profilers give it (`aten::relu`), and its tensors.

    `is_uncounted` tells that it may have FLOPs which nobody counts.
    """

    name: str
    is_uncounted: bool
    tensors: tuple[torch.Tensor, ...]
    written: tuple[torch.Tensor, ...]


@contextmanager
def counting_flops() -> Iterator[Callable[[], int]]:
    """Count FLOPs inside the block; gives a function that reads those so far."""
    counter: Any = FlopCounterMode(display=False, custom_mapping=custom_mapping())
    # Its own tracker hooks every module there is, at which compiled ones warn; who runs is known here anyhow.
    counter.mod_tracker = _OnePlace()
    with counter:
        yield counter.get_total_flops


class OperatorWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own
    """Tells of every operator before it runs, those inside `counting_flops` as they were taken apart for it."""

    supports_higher_order_operators = True

    def __init__(self, tell: Callable[[Operator], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's own
        self._tell = tell
        self._is_paused = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Tell nothing inside."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Tell, then run it."""
        named = dict(kwargs or {})
        if not self._is_paused and isinstance(func, torch._ops.OpOverload):  # noqa: SLF001 (the type has no other name)
            values: dict[Any, Any] = {**dict(enumerate(args)), **named}
            written = tuple(tensor for place in _written(func) for tensor in _tensors(values.get(place)))
            tensors = tuple(tensor for value in values.values() for tensor in _tensors(value))
            self._tell(Operator(*_description(func), tensors, written))
        return func(*args, **named)


class _OnePlace:
    """A module tracker for which all that runs is in one place."""

    parents = ("Global",)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


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
