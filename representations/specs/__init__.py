"""What a model is made of, as frozen plain data: features, the representation of each, MLPs, interaction.

Sizes follow from the specs alone, so that a model of 96 GB can be planned without being built.
FLOPs count 2 per multiply-accumulate; parameter bytes are exact and equal those of the built module (buffers that the
forward pass needs, such as hash coefficients, included).
"""

from representations.specs.dhe import Activation, DheSpec, Norm, Transform
from representations.specs.embedding import EmbeddingSpec, embedding_from_object, embedding_object
from representations.specs.feature import Feature
from representations.specs.hybrid import HybridSpec
from representations.specs.model import Interaction, ModelSpec, model_from_object
from representations.specs.sizes import BYTES_PER_FLOAT, BYTES_PER_HASH
from representations.specs.table import TableSpec

__all__ = [
    "BYTES_PER_FLOAT",
    "BYTES_PER_HASH",
    "Activation",
    "DheSpec",
    "EmbeddingSpec",
    "Feature",
    "HybridSpec",
    "Interaction",
    "ModelSpec",
    "Norm",
    "TableSpec",
    "Transform",
    "embedding_from_object",
    "embedding_object",
    "model_from_object",
]
