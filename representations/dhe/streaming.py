"""The encoder and the decoder's first layer in one pass over blocks of ids: the N x k encodings never exist.

A block's encodings stay in the processor's cache between hashing and product, and training keeps no activation of k
floats per id: the backward pass hashes again, at a small part of its product's cost.
"""

from typing import Any

import torch
from torch import Tensor, nn

from representations.dhe.encoder import DheEncoder, runs_compiled

__all__ = ["block_rows", "can_stream", "encode_and_project"]

# Half a megabyte, but never fewer rows: in smaller blocks a product's cost beside its arithmetic shows.
_BLOCK_FLOATS = 131_072
_FEWEST_ROWS = 128


def block_rows(k: int) -> int:
    """Ids per block of k hashes each."""
    return max(_FEWEST_ROWS, _BLOCK_FLOATS // k)


def can_stream(ids_N: Tensor, encoder: DheEncoder, layer: nn.Linear) -> bool:
    """Whether the two may run as one: on the CPU, in float32, on more than one block, neither being watched."""
    if len(ids_N) <= block_rows(encoder.k):
        return False
    watched = any(m._forward_hooks or m._forward_pre_hooks for m in (encoder, layer))  # noqa: SLF001 (no public way)
    is_plain = type(layer) is nn.Linear and layer.weight.dtype == torch.float32
    return is_plain and not watched and runs_compiled(ids_N) and layer.weight.device.type == "cpu"


def encode_and_project(ids_N: Tensor, encoder: DheEncoder, layer: nn.Linear) -> Tensor:
    """`layer(encoder(ids_N))`, [N, layer.out_features].

    Raises:
        InputError: an id is not in [0, cardinality).
    """
    if torch.is_grad_enabled() and layer.weight.requires_grad:
        arguments = (ids_N, encoder, layer.weight, layer.bias)
        hidden_NH: Tensor = _EncodeAndProject.apply(*arguments)  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return hidden_NH
    return _project(ids_N, encoder, layer.weight, layer.bias)


class _EncodeAndProject(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, ids_N: Tensor, encoder: DheEncoder, weight_HK: Tensor, bias_H: Tensor) -> Tensor:
        ctx.save_for_backward(ids_N)
        ctx.encoder = encoder
        return _project(ids_N, encoder, weight_HK, bias_H)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient_NH: Tensor) -> tuple[None, None, Tensor, Tensor]:
        (ids_N,) = ctx.saved_tensors
        weight_HK = torch.zeros(gradient_NH.shape[1], ctx.encoder.k)
        rows = block_rows(ctx.encoder.k)
        blocks = zip(ctx.encoder.blocks(ids_N, rows), torch.split(gradient_NH, rows), strict=True)
        for encoded_RK, gradient_RH in blocks:
            weight_HK.addmm_(gradient_RH.t(), encoded_RK)
        return None, None, weight_HK, gradient_NH.sum(0)


@torch.no_grad()
def _project(ids_N: Tensor, encoder: DheEncoder, weight_HK: Tensor, bias_H: Tensor) -> Tensor:
    hidden_NH = torch.empty(len(ids_N), len(weight_HK))
    weight_KH = weight_HK.t()
    rows = block_rows(encoder.k)
    for encoded_RK, hidden_RH in zip(encoder.blocks(ids_N, rows), torch.split(hidden_NH, rows), strict=True):
        torch.addmm(bias_H, encoded_RK, weight_KH, out=hidden_RH)
    return hidden_NH
