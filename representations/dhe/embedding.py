"""A deep hash embedding as a drop-in for a table: encoder, decoder, and a sum over each sample's ids."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from representations.dhe.decoder import build_decoder
from representations.dhe.encoder import DheEncoder, runs_compiled
from representations.dhe.streaming import can_stream, encode_and_project
from representations.specs import DheSpec, Feature

__all__ = ["DheEmbedding", "SumPool", "distinct_ids", "least_work", "set_deduplication", "set_streaming"]


class SumPool(nn.Module):
    """Sums rows [N, D] over bags that begin at offsets [B] -> [B, D]."""

    def forward(self, rows_ND: Tensor, offsets_B: Tensor) -> Tensor:
        """Shape [B, D]."""
        order_N = torch.arange(len(rows_ND), device=rows_ND.device)
        return functional.embedding_bag(order_N, rows_ND, offsets_B, mode="sum")


class DheEmbedding(nn.Module):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, dim].

    With `deduplicate`, every distinct id goes through the stack once: the same result, and much less work in a
    training batch. Batch statistics would change, so that a BatchNorm in training sees all ids all the same.
    With `stream`, encoder and first layer run as one on the CPU, over blocks of ids: less time and no N x k encodings.
    It is off by default, as a model is planned as the sum of its modules; hooks on either of them turn it off too.
    `decoder_dtype` is that of the decoder's products (`representations.dhe.precision` chooses it by measurement).
    """

    def __init__(self, feature: Feature, spec: DheSpec, seed: int = 0) -> None:
        super().__init__()
        where = f"feature {feature.name!r}"
        self.encoder = DheEncoder(spec.k, feature.cardinality, transform=spec.transform, seed=seed, where=where)
        self.decoder = build_decoder(spec)
        self.pool = SumPool()
        self.has_batch_norm = spec.norm == "batch"
        self.deduplicate = False
        self.stream = False
        self.decoder_dtype = torch.float32
        self.dim = spec.dim

    def forward(self, ids_N: Tensor, offsets_B: Tensor | None = None) -> Tensor:
        """Shape [B, dim].

        Raises:
            InputError: ids are no integers, or on the CPU one is beyond the feature's range; names feature and place.
        """
        ids_N = self.encoder.checked(ids_N)
        if self.deduplicate and not (self.training and self.has_batch_norm):
            distinct_U, inverse_N = distinct_ids(ids_N)
            if len(distinct_U) < len(ids_N):
                rows_UD = self._rows(distinct_U)
                if offsets_B is None:
                    return functional.embedding(inverse_N, rows_UD)
                return functional.embedding_bag(inverse_N, rows_UD, offsets_B, mode="sum")
        rows_ND = self._rows(ids_N)
        if offsets_B is None:
            return rows_ND
        pooled_BD: Tensor = self.pool(rows_ND, offsets_B)
        return pooled_BD

    def _rows(self, ids_N: Tensor) -> Tensor:
        if self.decoder_dtype != torch.float32:
            encoded_NK = self.encoder(ids_N)
            with torch.autocast(ids_N.device.type, dtype=self.decoder_dtype):
                low_ND: Tensor = self.decoder(encoded_NK)
            return low_ND.float()
        first, *others = self.decoder.children()
        if self.stream and isinstance(first, nn.Linear) and can_stream(ids_N, self.encoder, first):
            activations_NH = encode_and_project(ids_N, self.encoder, first)
            for module in others:
                activations_NH = module(activations_NH)
            return activations_NH
        rows_ND: Tensor = self.decoder(self.encoder(ids_N))
        return rows_ND


def distinct_ids(ids_N: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct ids [U], in any order, and the place of each id among them [N].

    One pass over a hash table on the CPU, a tenth of `torch.unique`'s time, which sorts.
    """
    if not runs_compiled(ids_N):
        distinct_U, inverse_N = torch.unique(ids_N, return_inverse=True)
        return distinct_U, inverse_N
    from representations.dhe import kernels

    distinct, inverse = kernels.distinct(ids_N.contiguous().numpy())
    return torch.from_numpy(distinct), torch.from_numpy(inverse)


def set_deduplication(model: nn.Module, *, enabled: bool) -> None:
    """Switch deduplication of ids in every module of the model that has it: DHEs and tensor trains."""
    for module in model.modules():
        if isinstance(getattr(module, "deduplicate", None), bool):
            switched: Any = module
            switched.deduplicate = enabled


def set_streaming(model: nn.Module, *, enabled: bool) -> None:
    """Switch streaming of every DHE in the model."""
    for module in model.modules():
        if isinstance(module, DheEmbedding):
            module.stream = enabled


@contextmanager
def least_work(model: nn.Module) -> Iterator[None]:
    """Deduplication and streaming on, wherever they can be; every switch afterwards as it was."""
    names = ("deduplicate", "stream")
    switches = [
        (module, name, value)
        for module in model.modules()
        for name in names
        if isinstance(value := getattr(module, name, None), bool)
    ]
    set_deduplication(model, enabled=True)
    set_streaming(model, enabled=True)
    try:
        yield
    finally:
        for module, name, value in switches:
            setattr(module, name, value)
