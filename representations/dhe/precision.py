"""A DHE's decoder in bfloat16: used where it was measured to be faster, with its error beside it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import torch
from torch import Tensor

from representations.dhe.embedding import DheEmbedding

__all__ = ["DecoderPrecision", "choose_decoder_precision"]

_ROUNDS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class DecoderPrecision:
    """What bfloat16 does to one DHE: `speedup` over float32, and the error of its embeddings.

    `relative_error` is the root mean square of the differences over that of the float32 embeddings.
    """

    chosen: str
    speedup: float
    relative_error: float


@torch.inference_mode()
def choose_decoder_precision(
    embedding: DheEmbedding, ids_N: Tensor, *, clock: Callable[[], float] = time.perf_counter
) -> DecoderPrecision:
    """Time the stack on `ids_N` with the decoder in float32 and in bfloat16, and leave it in the faster one.

    Weights stay float32; only the products of `embedding.decoder` run in bfloat16, and embeddings come out in float32.
    Processors without bfloat16 instructions emulate it, several times slower: there float32 stays.
    """
    rows, seconds = {}, {}
    for name in ("float32", "bfloat16"):
        embedding.decoder_dtype = getattr(torch, name)
        rows[name] = embedding(ids_N)
        seconds[name] = median(_timed(embedding, ids_N, clock) for _ in range(_ROUNDS))
    speedup = seconds["float32"] / seconds["bfloat16"]
    chosen = "bfloat16" if speedup > 1 else "float32"
    embedding.decoder_dtype = getattr(torch, chosen)
    error = (rows["bfloat16"] - rows["float32"]).square().mean().sqrt() / rows["float32"].square().mean().sqrt()
    return DecoderPrecision(chosen=chosen, speedup=speedup, relative_error=float(error))


def _timed(embedding: DheEmbedding, ids_N: Tensor, clock: Callable[[], float]) -> float:
    if ids_N.device.type == "cuda":
        torch.cuda.synchronize(ids_N.device)
    start = clock()
    embedding(ids_N)
    if ids_N.device.type == "cuda":
        torch.cuda.synchronize(ids_N.device)
    return clock() - start
