"""What the names in a trace stand for."""

import re
from functools import cache
from typing import Any

import torch

from profiles.counting.operator_work import OperatorWork, operator_work

__all__ = ["work_of"]


@cache
def work_of(name: str) -> OperatorWork:
    """The kind of work of what has this name in a trace: an operator (`aten::mm`), or a node of autograd's."""
    namespace, separator, operator = name.partition("::")
    packet: Any = getattr(getattr(torch.ops, namespace, None), operator, None) if separator else None
    if packet is not None:
        work = operator_work(packet)
        return "data" if work == "unknown" and _only_calls_others(packet) else work
    return "data" if re.search(r"Backward\d*$|autograd", name) else "unknown"


def _only_calls_others(packet: Any) -> bool:
    """Whether the operator is made of others, which a trace shows inside it."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd  # noqa: SLF001 (no public name)
    overloads = (getattr(packet, name) for name in packet.overloads())
    return any(overload.has_kernel_for_dispatch_key(key) for overload in overloads)
