"""What all recommendation models are: dense features and ids in, logits out."""

from abc import abstractmethod

from torch import Tensor, nn

from representations.bags import Ids
from representations.embedding_set import EmbeddingSet
from representations.specs import ModelSpec

__all__ = ["RecommendationModel"]


class RecommendationModel(nn.Module):
    """A model of a `ModelSpec`, which stays readable on the module. `representations.build_model` builds one."""

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        self.spec = spec

    @property
    @abstractmethod
    def embedding_set(self) -> EmbeddingSet:
        """The embeddings of all features."""

    @abstractmethod
    def forward(self, dense_BF: Tensor, ids: Ids) -> Tensor:
        """Logits [B]. `dense_BF` is not looked at where the model has no dense features.

        Ids are [B, S], or one bag list per feature, or a `KeyedJaggedTensor`; an empty bag gives a zero vector. On the
        CPU an id out of range is an error; all else is not checked here (`representations.check_inputs` does, where
        data enters).

        Raises:
            InputError: an id out of range, with feature, row and value.
        """
