"""Mish (Misra, arXiv 1908.08681), compiled for the CPU: one exponential per value, forward and backward."""

from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Mish"]


class Mish(nn.Mish):
    """`nn.Mish`, to 3e-7 relative, ten times as fast for plain float32 tensors on the CPU; not differentiable twice."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 (the name of the base class)
        """The shape of `input`."""
        if not _can_run_compiled(input):
            return super().forward(input)
        if torch.is_grad_enabled() and input.requires_grad:
            result: Tensor = _Mish.apply(input)  # type: ignore[no-untyped-call]  # torch leaves `apply` untyped
            return result
        return _compiled(input)


class _Mish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return _compiled(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        from representations.dhe.kernels import mish_gradient

        (x,) = ctx.saved_tensors
        out = torch.empty_like(x)
        mish_gradient(_flat(x), _flat(gradient.contiguous()), _flat(out))
        return out


def _compiled(x: Tensor) -> Tensor:
    from representations.dhe.kernels import mish

    out = torch.empty_like(x)
    mish(_flat(x), _flat(out))
    return out


def _flat(x: Tensor) -> Any:
    return x.detach().view(-1).numpy()


def _can_run_compiled(x: Tensor) -> bool:
    is_plain = type(x) is Tensor and x.device.type == "cpu" and x.dtype == torch.float32 and x.is_contiguous()
    return is_plain and not torch.compiler.is_compiling()
