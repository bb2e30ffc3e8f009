"""The DLRM of a spec as one would write it in an afternoon: plain torch, and torchrec's tables.

Shape suffixes: B samples, F dense features, S categorical features, V vectors that interact.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from representations.specs import ModelSpec

__all__ = ["PlainDlrm", "plain_tables", "torchrec_tables", "trainer"]

# Ids [B, S] -> one vector per feature, each [B, dim].
Lookup = Callable[[Tensor], Sequence[Tensor]]


class PlainDlrm(nn.Module):
    """Bottom MLP, tables, pairwise dot products of distinct vectors, top MLP; logits [B]."""

    pairs_2P: Tensor

    def __init__(self, spec: ModelSpec, tables: nn.Module) -> None:
        super().__init__()
        self.bottom = _mlp((spec.dense_features, *spec.bottom_mlp), last=nn.ReLU())
        self.tables = tables
        self.top = _mlp((spec.interaction_width, *spec.top_mlp), last=nn.Identity())
        count = len(spec.features) + 1
        self.register_buffer("pairs_2P", torch.triu_indices(count, count, offset=1))

    def forward(self, dense_BF: Tensor, ids_BS: Tensor) -> Tensor:
        bottom_BD = self.bottom(dense_BF)
        vectors_BVD = torch.stack([bottom_BD, *self.tables(ids_BS)], dim=1)
        products_BVV = torch.bmm(vectors_BVD, vectors_BVD.transpose(1, 2))
        rows_P, columns_P = self.pairs_2P
        logits_B1: Tensor = self.top(torch.cat([bottom_BD, products_BVV[:, rows_P, columns_P]], dim=1))
        return logits_B1.squeeze(1)


class _Bags(nn.Module):
    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        sizes = [(f.cardinality, e.width) for f, e in zip(spec.features, spec.embeddings, strict=True)]
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, dim, mode="sum") for rows, dim in sizes)

    def forward(self, ids_BS: Tensor) -> list[Tensor]:
        offsets_B = torch.arange(len(ids_BS))
        return [bag(ids_BS[:, i], offsets_B) for i, bag in enumerate(self.bags)]


class _Torchrec(nn.Module):
    def __init__(self, spec: ModelSpec) -> None:
        from torchrec.modules.embedding_configs import EmbeddingBagConfig
        from torchrec.modules.embedding_modules import EmbeddingBagCollection

        super().__init__()
        self.names = [feature.name for feature in spec.features]
        self.tables = EmbeddingBagCollection(
            tables=[
                EmbeddingBagConfig(
                    name=f.name, embedding_dim=e.width, num_embeddings=f.cardinality, feature_names=[f.name]
                )
                for f, e in zip(spec.features, spec.embeddings, strict=True)
            ]
        )

    def forward(self, ids_BS: Tensor) -> list[Tensor]:
        from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

        ones = torch.ones(ids_BS.numel(), dtype=torch.int64)
        ids = KeyedJaggedTensor(keys=self.names, values=ids_BS.t().reshape(-1), lengths=ones)
        found: dict[str, Tensor] = self.tables(ids).to_dict()
        return [found[name] for name in self.names]


def plain_tables(spec: ModelSpec) -> nn.Module:
    """One `nn.EmbeddingBag` per feature, dense gradients."""
    return _Bags(spec)


def torchrec_tables(spec: ModelSpec) -> nn.Module:
    """torchrec's unsharded `EmbeddingBagCollection`."""
    return _Torchrec(spec)


def trainer(model: nn.Module, rows: tuple[Tensor, Tensor, Tensor], batch: int) -> Callable[[], None]:
    """A call that trains one batch, shuffled anew every epoch, by dense Adagrad for every parameter."""
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.02)
    dense_NF, ids_NS, labels_N = rows
    order: list[Any] = []

    def train_batch() -> None:
        if not order:
            order.extend(torch.split(torch.randperm(len(labels_N)), batch))
        rows_B = order.pop()
        loss = binary_cross_entropy_with_logits(model(dense_NF[rows_B], ids_NS[rows_B]), labels_N[rows_B])
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()

    return train_batch


def _mlp(sizes: Sequence[int], *, last: nn.Module) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1], last)
