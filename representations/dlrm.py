"""The DLRM of a `ModelSpec` (Naumov et al., arXiv 1906.00091).

Shape suffixes: B samples, F dense features, S categorical features, N flat ids of bags.
"""

from collections.abc import Sequence

import numpy as np
from torch import Tensor, nn

from profiles.errors import InputError
from representations.embedding import build_embedding
from representations.interaction import Concat, DotInteraction
from representations.mlp import build_mlp
from representations.specs import ModelSpec

__all__ = ["Dlrm", "Ids"]

# One id per sample and feature [B, S], or per feature either ids [B] or (flat ids [N], offsets [B]).
Ids = Tensor | Sequence[Tensor | tuple[Tensor, Tensor]]


class Dlrm(nn.Module):
    """Dense features and ids -> logits. `representations.build_model` builds one from a seed.

    `spec` stays readable on the module; `seed` draws the hash functions, a different set per feature.
    """

    def __init__(self, spec: ModelSpec, seed: int = 0) -> None:
        super().__init__()
        self.spec = spec
        if spec.dense_features:
            self.bottom_mlp = build_mlp((spec.dense_features, *spec.bottom_mlp), relu_after_last=True)
        self.embeddings = nn.ModuleList(
            build_embedding(feature, embedding, _feature_seed(seed, i))
            for i, (feature, embedding) in enumerate(zip(spec.features, spec.embeddings, strict=True))
        )
        is_dot = spec.interaction == "dot"
        self.interaction = DotInteraction(keep_first=spec.dense_features > 0) if is_dot else Concat()
        self.top_mlp = build_mlp((spec.interaction_width, *spec.top_mlp), relu_after_last=False)

    def forward(self, dense_BF: Tensor, ids: Ids) -> Tensor:
        """Logits [B]. `dense_BF` is not looked at where the model has no dense features.

        Ids are not checked here (`representations.check_ids` does, where data enters).
        """
        bags = self._bags(ids)
        vectors = [self.bottom_mlp(dense_BF)] if self.spec.dense_features else []
        vectors += [embed(*bag) for embed, bag in zip(self.embeddings, bags, strict=True)]
        logits_B1: Tensor = self.top_mlp(self.interaction(*vectors))
        return logits_B1.squeeze(1)

    def _bags(self, ids: Ids) -> list[tuple[Tensor] | tuple[Tensor, Tensor]]:
        columns = ids.t().contiguous().unbind() if isinstance(ids, Tensor) else ids
        if len(columns) != len(self.embeddings):
            raise InputError(f"ids: must hold {len(self.embeddings)} features, but hold {len(columns)}")
        return [column if isinstance(column, tuple) else (column,) for column in columns]


def _feature_seed(seed: int, position: int) -> int:
    return int(np.random.SeedSequence((seed, position)).generate_state(1)[0])
