"""One pass that captures the inputs of every module, counts its FLOPs, and sees what raises."""

import copy
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from profiles.tracing import tracing
from profiles.traffic import leaf_bytes
from profiles.tree import ModuleNode

__all__ = ["CapturedCall", "Observation", "clone_inputs", "observe", "signature"]


@dataclass(kw_only=True, slots=True)
class CapturedCall:
    """Inputs of one distinct call, and how often a pass calls the module with inputs of that signature.

    `batch` is the place of the target's batch in which it was made, `weight` that batch's share in all figures.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    signature: str
    count: int = 1
    batch: int = 0
    weight: float = 1.0

    def context(self) -> AbstractContextManager[object]:
        """What was in force when the call was captured."""
        # No inference mode: what a user's module may cache in it could never be trained afterwards.
        return torch.no_grad()


@dataclass(kw_only=True, slots=True)
class Observation:
    """What one pass showed of a module; `flops` include its children's, `self_flops` do not."""

    calls: list[CapturedCall] = field(default_factory=list)
    flops: float = 0.0
    self_flops: float = 0.0
    bytes_moved: float | None = None
    failure: str = ""

    @property
    def call_count(self) -> int:
        """How often the module was called."""
        return sum(call.count for call in self.calls)


def observe(
    model: nn.Module, nodes: tuple[ModuleNode, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Observation, ...]:
    """Run the model once; one observation per node.

    Where the model raises, the modules through which the error passed carry it as `failure`.
    """
    observations = tuple(Observation() for _ in nodes)
    counter = FlopCounterMode(display=False)

    def on_call(index: int, call_args: tuple[Any, ...], call_kwargs: Mapping[str, Any]) -> None:
        _capture(observations[index], call_args, call_kwargs)

    def on_return(index: int, call_args: tuple[Any, ...], call_kwargs: Mapping[str, Any], output: Any) -> None:
        node, seen = nodes[index], observations[index]
        if node.is_leaf:
            moved = leaf_bytes(node.module, (call_args, call_kwargs), output)
            seen.bytes_moved = None if moved is None else moved + (seen.bytes_moved or 0.0)

    def meter() -> int:
        return sum(counter.flop_counts["Global"].values())

    with tracing(nodes, meter, on_call, on_return) as trace, torch.no_grad(), counter:
        try:
            model(*clone_inputs(args), **clone_inputs(kwargs))
        except Exception as error:  # noqa: BLE001 (a model that raises is profiled as far as it got)
            for index, _ in trace.open_calls:
                observations[index].failure = f"{type(error).__name__}: {error}"
    for span in trace.spans:
        flops = span.end - span.start
        if span.is_outermost:
            observations[span.node].flops += flops
        observations[span.node].self_flops += flops
        if span.caller is not None:
            observations[span.caller].self_flops -= flops
    return observations


def clone_inputs(value: Any) -> Any:
    """A copy that shares no memory: tensors cloned, containers rebuilt, other objects deep-copied where they can be."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(clone_inputs(part) for part in value))
    if isinstance(value, tuple | list):
        return type(value)(clone_inputs(part) for part in value)
    if isinstance(value, dict):
        return {key: clone_inputs(part) for key, part in value.items()}
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 (an object that cannot be copied is shared: locks, handles, generators)
        return value


def signature(value: Any) -> str:
    """Shapes and dtypes of the tensors in nested containers, scalars by value, other objects by type."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, tuple | list):
        return f"({', '.join(signature(part) for part in value)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {signature(part)}' for key, part in value.items())}}}"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    return type(value).__name__


def _capture(seen: Observation, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    text = signature((args, kwargs)) if kwargs else signature(args)
    for call in seen.calls:
        if call.signature == text:
            call.count += 1
            return
    seen.calls.append(CapturedCall(args=clone_inputs(args), kwargs=clone_inputs(dict(kwargs)), signature=text))
