"""What is in force around a call: gradient and inference mode, autocast."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache

import torch

__all__ = ["CallContext"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallContext:
    """The state that decides how a call runs; `autocast` holds the dtype by device type where it is on."""

    is_grad: bool
    is_inference: bool
    autocast: tuple[tuple[str, torch.dtype], ...]
    is_autocast_cached: bool

    @classmethod
    def current(cls) -> "CallContext":
        """The state as it is now."""
        return cls(
            is_grad=torch.is_grad_enabled(),
            is_inference=torch.is_inference_mode_enabled(),
            autocast=tuple((kind, torch.get_autocast_dtype(kind)) for kind in _kinds() if _is_on(kind)),
            is_autocast_cached=torch.is_autocast_cache_enabled(),
        )

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Put this state in force; what is so already stays untouched."""
        with ExitStack() as stack:
            if self.is_inference != torch.is_inference_mode_enabled():
                stack.enter_context(torch.inference_mode(self.is_inference))
            if self.is_grad != torch.is_grad_enabled():
                stack.enter_context(torch.set_grad_enabled(self.is_grad))
            wanted, current = dict(self.autocast), dict(CallContext.current().autocast)
            for kind in _kinds():
                if wanted.get(kind) != current.get(kind):
                    dtype, is_on = wanted.get(kind), kind in wanted
                    cached = self.is_autocast_cached
                    stack.enter_context(torch.autocast(kind, dtype=dtype, enabled=is_on, cache_enabled=cached))
            yield

    def difference(self, other: "CallContext") -> str:
        """How this differs from another one, in words; empty where it does not."""
        parts = []
        if self.autocast != other.autocast:
            kinds = [f"autocast({kind}, {str(dtype).removeprefix('torch.')})" for kind, dtype in self.autocast]
            parts.append(", ".join(kinds) or "no autocast")
        if self.is_inference != other.is_inference:
            parts.append("inference mode" if self.is_inference else "no inference mode")
        elif self.is_grad != other.is_grad:
            parts.append("gradients" if self.is_grad else "no gradients")
        return ", ".join(parts)


@cache
def _kinds() -> tuple[str, ...]:
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return ("cpu", accelerator.type) if accelerator else ("cpu",)


def _is_on(kind: str) -> bool:
    return torch.is_autocast_enabled(kind)
