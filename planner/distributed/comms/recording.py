"""Record which collectives a piece of training calls, and over how many bytes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from planner.distributed.comms.calls import CollectiveCall
from planner.distributed.network import Collective

__all__ = ["RecordCollectives"]

_c10d = torch.ops.c10d
_COLLECTIVE_OF: Mapping[Any, Collective] = {
    _c10d.allreduce_.default: "all_reduce",
    _c10d.alltoall_.default: "all_to_all",
    _c10d.alltoall_base_.default: "all_to_all",
    _c10d.allgather_.default: "all_gather",
    _c10d._allgather_base_.default: "all_gather",
    _c10d.reduce_scatter_.default: "reduce_scatter",
    _c10d._reduce_scatter_base_.default: "reduce_scatter",
}


class RecordCollectives(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's hook for subclasses is untyped
    """A context in which `torch.distributed`'s collectives are noted in `calls`, in their order, and run as ever.

    Works with every backend, below whatever library makes the calls; of one rank.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self.calls: list[CollectiveCall] = []

    def __torch_dispatch__(
        self, func: Any, types: Iterable[Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        del types
        if (collective := _COLLECTIVE_OF.get(func)) is not None:
            # Outputs come first, inputs second; an all-reduce's tensors are both.
            largest = max(_bytes(args[0]), _bytes(args[1]) if collective != "all_reduce" else 0)
            if largest:
                self.calls.append(CollectiveCall(collective=collective, message_bytes=largest))
        return func(*args, **(kwargs or {}))


def _bytes(tensors: Any) -> int:
    """Of a tensor, or of lists of them however nested."""
    if isinstance(tensors, torch.Tensor):
        return tensors.numel() * tensors.element_size()
    return sum(_bytes(one) for one in tensors)
