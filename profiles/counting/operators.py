"""What the operators of a pass tell: FLOPs, bytes, which of them nobody counts, and whose tensors they touch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from profiles.counting.flops import custom_mapping, packet_of
from profiles.counting.operator_work import operator_work
from profiles.counting.traffic import distinct_bytes
from profiles.nested import tensors_of

__all__ = ["Operator", "OperatorWatch"]

# Of what these take first they read no more than they give back.
_LOOK_UPS = frozenset({"aten::embedding", "aten::index", "aten::index_select", "aten::gather"})
_BAGS = frozenset({"aten::_embedding_bag", "aten::_embedding_bag_forward_only"})
_MOVE_NOTHING = frozenset({"aten::_unsafe_view", "aten::empty", "aten::empty_like", "aten::new_empty"})


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
    """Counts FLOPs by the formulas of `FlopCounterMode` and of this package, and tells of every operator it runs.

    `moved_bytes` are those of all operators so far: inputs and outputs of each, of tables the rows looked up, none of
    views. `operators` is how many there were but for views. Those of other threads are not seen.

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
        self.moved_bytes = 0
        self.operators = 0

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
        self.operators += not _is_view(func)
        if not (_is_view(func) or func._schema.name in _MOVE_NOTHING):  # noqa: SLF001 (no public way to ask)
            self.moved_bytes += _moved_bytes(_description(func)[0], tensors, tuple(tensors_of(output)))
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
def _is_view(func: Any) -> bool:
    """Whether it only shows memory in another way."""
    returns = func._schema.returns  # noqa: SLF001 (no public way to ask)
    return bool(returns) and all(one.alias_info and not one.alias_info.is_write for one in returns)


def _moved_bytes(name: str, tensors: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> int:
    written = distinct_bytes(outputs)
    if name in _LOOK_UPS:
        return distinct_bytes(tensors[1:]) + 2 * written
    if name in _BAGS:
        table, ids = tensors[:2]
        rows_bytes = ids.numel() * table.shape[-1] * table.element_size()
        return distinct_bytes(tensors[1:]) + min(rows_bytes, distinct_bytes([table])) + written
    return distinct_bytes(tensors) + written


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
