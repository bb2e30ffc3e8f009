"""The DeepFM of a `ModelSpec` (Guo et al., arXiv 1703.04247), as torchrec's `SimpleDeepFMNN` has it, without a sigmoid.

Shape suffixes: B samples, F dense features, W floats of all vectors together.
"""

from torch import Tensor, nn

from profiles.errors import InputError
from representations.bags import Ids
from representations.embedding_set import EmbeddingSet
from representations.interaction import Concat
from representations.mlp import build_mlp
from representations.model import RecommendationModel
from representations.specs import ModelSpec

__all__ = ["DeepFm", "FactorizationMachine", "FmInteraction"]


class FactorizationMachine(nn.Module):
    """[B, W] -> [B, 1]: the sum over all pairs of floats of their product, half of (sum)^2 - sum of squares.

    Pairs within one vector count as well, as in torchrec; Guo et al. pair vectors.
    """

    def forward(self, joined_BW: Tensor) -> Tensor:
        """Shape [B, 1]."""
        total_B1 = joined_BW.sum(dim=1, keepdim=True)
        squares_B1 = joined_BW.square().sum(dim=1, keepdim=True)
        return (total_B1.square() - squares_B1) * 0.5


class FmInteraction(nn.Module):
    """Vectors -> the dense one, the deep part of all, and the machine's pairs, side by side."""

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        self.flatten = Concat()
        self.deep_fm = build_mlp((spec.vectors_width, *spec.deep_mlp), relu_after_last=True)
        self.fm = FactorizationMachine()
        self.concat = Concat()
        self.keep_first = spec.dense_features > 0

    def forward(self, *vectors: Tensor) -> Tensor:
        """Shape [B, interaction width]."""
        joined_BW = self.flatten(*vectors)
        first = vectors[:1] if self.keep_first else ()
        met_BD: Tensor = self.concat(*first, self.deep_fm(joined_BW), self.fm(joined_BW))
        return met_BD


class DeepFm(RecommendationModel):
    """Dense features and ids -> logits. `seed` draws the hash functions, a different set per feature."""

    def __init__(self, spec: ModelSpec, seed: int = 0) -> None:
        if spec.architecture != "deepfm":
            raise InputError(f"model {spec.name!r}: is no DeepFM but {spec.architecture!r}")
        super().__init__(spec)
        if spec.dense_features:
            self.dense_arch = build_mlp((spec.dense_features, *spec.bottom_mlp), relu_after_last=True)
        self.sparse_arch = EmbeddingSet(spec, seed)
        self.inter_arch = FmInteraction(spec)
        self.over_arch = build_mlp((spec.interaction_width, *spec.top_mlp), relu_after_last=False)

    @property
    def embedding_set(self) -> EmbeddingSet:
        """The child `sparse_arch`."""
        return self.sparse_arch

    def forward(self, dense_BF: Tensor, ids: Ids) -> Tensor:
        """Logits [B]."""
        vectors = [self.dense_arch(dense_BF)] if self.spec.dense_features else []
        vectors += self.sparse_arch(ids)
        logits_B1: Tensor = self.over_arch(self.inter_arch(*vectors))
        return logits_B1.squeeze(1)
