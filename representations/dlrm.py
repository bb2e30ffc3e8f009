"""The DLRM of a `ModelSpec` (Naumov et al., arXiv 1906.00091).

Shape suffixes: B samples, F dense features.
"""

from torch import Tensor

from profiles.errors import InputError
from representations.bags import Ids
from representations.embedding_set import EmbeddingSet
from representations.interaction import Concat, DotInteraction
from representations.mlp import build_mlp
from representations.model import RecommendationModel
from representations.specs import ModelSpec

__all__ = ["Dlrm"]


class Dlrm(RecommendationModel):
    """Dense features and ids -> logits. `seed` draws the hash functions, a different set per feature."""

    def __init__(self, spec: ModelSpec, seed: int = 0) -> None:
        if spec.architecture != "dlrm":
            raise InputError(f"model {spec.name!r}: is no DLRM but {spec.architecture!r}")
        super().__init__(spec)
        if spec.dense_features:
            self.bottom_mlp = build_mlp((spec.dense_features, *spec.bottom_mlp), relu_after_last=True)
        self.embeddings = EmbeddingSet(spec, seed)
        is_dot = spec.interaction == "dot"
        self.interaction = DotInteraction(keep_first=spec.dense_features > 0) if is_dot else Concat()
        self.top_mlp = build_mlp((spec.interaction_width, *spec.top_mlp), relu_after_last=False)

    @property
    def embedding_set(self) -> EmbeddingSet:
        """The child `embeddings`."""
        return self.embeddings

    def forward(self, dense_BF: Tensor, ids: Ids) -> Tensor:
        """Logits [B]."""
        vectors = [self.bottom_mlp(dense_BF)] if self.spec.dense_features else []
        vectors += self.embeddings(ids)
        logits_B1: Tensor = self.top_mlp(self.interaction(*vectors))
        return logits_B1.squeeze(1)
